"""The pytest plugin: tests of agents with recorded answers of their models. pytest loads it by itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from . import _native

if TYPE_CHECKING:
    from .testing import AgentRecording

VARIABLE = "AGENT_LOOP_RECORD"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agent-loop")
    group.addoption(
        "--agent-record", action="store_true", help="record tests that use agent_recording anew, with their real models"
    )


@pytest.fixture
def agent_recording(request: pytest.FixtureRequest) -> AgentRecording:
    """Options of an agent whose model answers as it was recorded, in the test's own file:

    ```python
    from agent_loop import Agent
    from agent_loop.testing import AgentRecording

    async def test_rain(agent_recording: AgentRecording) -> None:
        agent = Agent("anthropic/claude-sonnet-4-5", **agent_recording)
        assert "rain" in (await agent.prompt("How does it smell after rain?")).text
    ```

    `pytest --agent-record`, or the variable `AGENT_LOOP_RECORD=1`, records the tests that run, with the real model, in place of
    what was recorded before. The file is `recordings/<module>.<test>.jsonl`, beside the test's.
    """
    function, bracket, parameters = request.node.nodeid.partition("::")[2].partition("[")
    test = function.replace("::", ".") + bracket + parameters
    file = request.path.parent / "recordings" / _native.test_file_name(request.path.stem, test)
    if request.config.getoption("--agent-record") or os.environ.get(VARIABLE, "0") not in ("", "0"):
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True)
        return {"record": str(file)}
    if not file.exists():
        pytest.fail(
            f"there is no recording {file}: run the test with pytest --agent-record, or with {VARIABLE}=1, to record it with its "
            "real model; then it needs no network and no key",
            pytrace=False,
        )
    return {"replay": str(file)}
