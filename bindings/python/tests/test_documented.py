"""The programs of the documentation that are only for Python print what their page says; tests/snippet_types.py checks their
types."""

import re
import subprocess
import sys

import pytest
from scripts import ROOT

PAGES = ["tools", "output", "turn-hooks"]
PROGRAMS = [
    (page, program, output)
    for page in PAGES
    for program, output in re.findall(
        r"```py\n(.*?)```\n\n```text\n(.*?)```", (ROOT / f"docs/{page}.md").read_text(), re.DOTALL
    )
]


@pytest.mark.parametrize(("_page", "program", "output"), PROGRAMS)
def test_the_programs_of_the_pages(_page, program, output, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (output, "")


def test_there_are_programs():
    assert all(any(of == page for of, _, _ in PROGRAMS) for page in PAGES)
