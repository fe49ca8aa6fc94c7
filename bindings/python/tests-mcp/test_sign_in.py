"""Servers that want a sign-in: two scenarios of MCP's conformance suite. `tests/mcp/with_server.py` has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = next(path for path in Path(os.environ["MCP_EVERYTHING"]).resolve().parents if path.name == "node_modules")
SUITE = [MODULES / "node/bin/node", MODULES / "@modelcontextprotocol/conformance/dist/index.js"]
CLIENT = f"{sys.executable} {Path(__file__).with_name('sign_in.py')}"


@pytest.mark.parametrize("scenario", ["auth/metadata-default", "auth/scope-step-up"])
def test_a_user_signs_in_and_again_for_more(scenario: str) -> None:
    command = [*SUITE, "client", "--command", CLIENT, "--scenario", scenario]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
