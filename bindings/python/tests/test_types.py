"""The types, as mypy and pyright read them: the stubs, what users write, and the snippets of the documentation."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import agent_loop
import pytest
from scripts import ROOT

HERE = Path(__file__).parent
PACKAGE = Path(agent_loop.__file__).parent
CHECKERS = {
    "mypy": ["-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"],
    "pyright": ["-m", "pyright", "--pythonpath", sys.executable],
}


def run(*arguments, cwd=HERE, **variables):
    """The exit code and the output of a Python program."""
    command = [sys.executable, *map(str, arguments)]
    environment = os.environ | variables
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_stubs_match_the_module():
    allowlist = HERE / "stubtest-allowlist.txt"
    status, output = run("-m", "mypy.stubtest", "agent_loop", "--allowlist", allowlist, "--ignore-unused-allowlist")
    assert status == 0, output


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_package_type_checks(checker):
    status, output = run(*CHECKERS[checker], PACKAGE)
    assert status == 0, output


def test_all_that_is_exported_has_a_type():
    status, output = run(
        "-m", "pyright", "--verifytypes", "agent_loop", "--ignoreexternal", "--outputjson", PYTHONPATH=str(PACKAGE.parent)
    )
    report = json.loads(output)["typeCompleteness"]
    unknown = [symbol["name"] for symbol in report["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
    assert (status, unknown, report["completenessScore"]) == (0, [], 1)


@pytest.mark.parametrize("checker", CHECKERS)
def test_found_p4_what_users_write_type_checks(checker, tmp_path):
    status, output = run(*CHECKERS[checker], HERE / "typed/natural.py", cwd=tmp_path)
    assert status == 0, output


def test_found_p4_what_users_write_type_checks_strictly(tmp_path):
    text = (HERE / "typed/natural.py").read_text(encoding="utf-8")
    (tmp_path / "natural.py").write_text("# pyright: strict\n" + text, encoding="utf-8")
    status, output = run(*CHECKERS["pyright"], "natural.py", cwd=tmp_path)
    assert status == 0, output


@pytest.mark.parametrize("checker", CHECKERS)
def test_found_p4_mistakes_are_reported(checker, tmp_path):
    status, output = run(*CHECKERS[checker], HERE / "typed/wrong.py", cwd=tmp_path)
    reported = {int(line) for line in re.findall(r"wrong\.py:(\d+)(?::\d+)*(?: -|:) error", output)}
    lines = (HERE / "typed/wrong.py").read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert marked and (status, reported) == (1, marked), output


def test_found_p4_the_snippets_of_the_documentation_type_check():
    status, output = run(ROOT / "tests/snippet_types.py", "--only", "python", "--python", sys.executable)
    assert status == 0, output
