"""Agents as programs: `main` makes a command of a spec, with flags, a chat, sessions and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from .agent import Agent
from .errors import InvalidArgumentError, InvalidStateError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import AgentOptions, _Model

NO_MODEL: dict[str, object] = {"provider": "scripted", "id": "none", "script": []}
"""Stands for the model until the command line names one."""


class AgentSpec:
    """What an agent is: its name, prompt, tools and defaults, and the agents that it may call.

    ```python
    from agent_loop import AgentSpec, main, tool

    @tool
    def weather(city: str) -> str:
        \"\"\"The weather in a city.\"\"\"
        return f"rain in {city}"

    main(AgentSpec("forecast", system_prompt="You forecast the weather.", tools=[weather]))
    ```

    - `name`: that of the program, of its folder of sessions, and of its tool where it is a subagent
    - `description`: what it does, in a sentence: for `--help`, and for the model that may call it as a subagent
    - `version`: what `--version` prints
    - `model`: where the command line and the environment name none
    - `agents`: specs of agents that the model may call as tools; they have this one's model unless they name another
    - the other arguments are those of `Agent`
    """

    def __init__(
        self,
        name: str,
        *,
        description: str = "",
        version: str = "",
        model: _Model | None = None,
        agents: Sequence[AgentSpec] = (),
        **options: Unpack[AgentOptions],
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError(f"spec: name: expected a text, got {name!r}")
        self.name = name
        self.description = description
        self.version = version
        self.model = model
        self.agents: list[AgentSpec] = list(agents)
        self.options: AgentOptions = options

    def _given(self, agents: list[Agent]) -> tuple[Any, ...]:
        """As the native module takes it. Adds the agent to the list, which keeps it."""
        agent = Agent(NO_MODEL if self.model is None else self.model, **self.options)
        agents.append(agent)
        subagents = [spec._given(agents) for spec in self.agents]
        return agent._native, self.model is not None, self.name, self.description, self.version, subagents

    def __repr__(self) -> str:
        return f"AgentSpec({self.name!r})"


def main(spec: AgentSpec, arguments: Sequence[str] | None = None) -> NoReturn:
    """Is the whole program of an agent: does what the command line says, and exits.

    `arguments` are those of the command line without the program's name, by default those of this process.
    `docs/program.md` has the flags, the commands and the exit codes. Tools and hooks run in an event loop that this starts.
    """
    sys.exit(exit_code(spec, sys.argv[1:] if arguments is None else list(arguments)))


def exit_code(spec: AgentSpec, arguments: Sequence[str]) -> int:
    """What the program of an agent exits with."""
    if not isinstance(spec, AgentSpec):
        raise InvalidArgumentError(f"main: expected an AgentSpec, got {spec!r}")
    import asyncio

    from ._native import run_program

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise InvalidStateError("main: it is the whole program, with an event loop of its own: call it where none runs")

    async def run() -> int:
        from .bridge import wait

        agents: list[Agent] = []
        given = spec._given(agents)
        return await wait(run_program(given, [spec.name, *arguments], agents[0]._caller()))

    before = give_up_interrupts()
    try:
        return asyncio.run(run())
    finally:
        take_interrupts(before)


def agent() -> NoReturn:
    """The program `agent`."""
    from ._native import run_agent

    give_up_interrupts()
    sys.exit(run_agent(["agent", *sys.argv[1:]]))


def give_up_interrupts() -> Any:
    """Ctrl-C is the program's: the first one aborts a run, the second one leaves. Returns the handler that was there."""
    import signal
    import threading

    if threading.current_thread() is threading.main_thread():
        return signal.signal(signal.SIGINT, signal.SIG_DFL)
    return None


def take_interrupts(handler: Any) -> None:
    """Ctrl-C is Python's again."""
    import signal

    if handler is not None:
        signal.signal(signal.SIGINT, handler)
