"""The programs of docs/tools.md that are only for Python print what the page says. tests/snippet_types.py checks their types."""

import re
import subprocess
import sys

import pytest
from scripts import ROOT

PROGRAMS = re.findall(r"```py\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "docs/tools.md").read_text(), re.DOTALL)


@pytest.mark.parametrize(("program", "output"), PROGRAMS)
def test_the_programs_of_the_page_on_tools(program, output, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (output, "")


def test_there_are_programs():
    assert len(PROGRAMS) > 1
