"""Recorded runs, played again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .agent import Agent

if TYPE_CHECKING:
    from os import PathLike

    from .runs import Run


def replay(recording: str | PathLike[str], run: int = 1, *, raise_errors: bool = True) -> Run:
    """Plays a recorded run again and returns it: with the events that it had when it was recorded, as fast as they are read.

    ```python
    async with agent_loop.replay("runs.jsonl", run=2) as run:
        async for event in run:
            print(event.to_json())
    ```

    There is no network, no key, no tool and no hook, and the run may have been recorded in another language. `recording` is the
    file of the option `record`; `run` is the number of the run in it, from 1 on. To test an agent with its own tools, give it the
    option `replay`. Reading a failed run to its end raises its error after the last event, unless `raise_errors` is False.

    It must be called where an event loop runs. Raises `AgentIOError` for a file that cannot be read, `DamagedError` and
    `NewerVersionError`, which name the line, for one that is no recording of this version, and `InvalidArgumentError` where it
    has no such run. Where this version of the library does something else than the one that recorded the run, it ends with a
    `ReplayError`, which says where.
    """
    # It only stands for the agent whose run it was.
    agent = Agent({"provider": "scripted", "id": "replay", "script": []})
    return agent._begin(lambda caller: agent._native.start_replay(recording, run, caller), raise_errors)
