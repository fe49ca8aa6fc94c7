"""`restate_agent`: an agent as a virtual object of Restate."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from restate import ObjectContext, ObjectSharedContext, VirtualObject

from .. import _native
from ..errors import InvalidArgumentError
from ..tools import Tool, tools_of
from .conversation import Conversation
from .definition import Definition, raised
from .inbox import ABORT, Inbox
from .stored import BYTES, stored

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options import LoopOptions, _Model

CALLBACKS = ("middleware", "provider", "providers")
"""Options of `Agent`, beside the hooks, that are functions."""

OF_CONVERSATION = ("messages", "session")
"""Options of `Agent` that are the conversation, which Restate has here."""


def restate_agent(
    name: str,
    model: _Model,
    *,
    tools: Iterable[Tool] = (),
    inactivity_timeout: timedelta = timedelta(minutes=10),
    abort_timeout: timedelta = timedelta(minutes=10),
    max_conversation_bytes: int | None = None,
    **options: Unpack[LoopOptions],
) -> VirtualObject:
    """An agent as a virtual object of Restate, for `restate.app([…])`: the object's key is the session. Its handlers:

    - `prompt(message)`: a text, a message, or a list of messages; returns the result of the run, `{"outcome", "text", …}`. The
      prompts of a session run one at a time. A run that ends with an error is a result, too, with its `error`
    - `resume()`: goes on after a run that failed
    - `steer(message)`, `follow_up(message)`: from anywhere, at any time; return `joined` if a run is active, else `queued`
    - `abort()`: ends the active run; returns whether there is one
    - `decide(decisions)`: what `Agent.resume` takes, about the calls that wait; the prompt that waits for it goes on
    - `state()`: `{"messages", "pending", "is_running", "waiting"}`

    What a model answers and what a tool returns is in Restate's journal: when the process dies, another one goes on from there.
    A step that was under way is done again: its tool gets the same `idempotency_key`. While calls wait for a decision, and
    between two attempts of a model call, no process is needed.

    - `tools`: functions with `@tool`. Each call is a step of the journal. A tool with a parameter annotated `RestateContext` is
      no step: it is called in the handler and has Restate's own context as `context.restate`
    - `api_key`, `network`: as `Agent` takes them; by default the key is in the environment. Neither gets into the journal
    - `inactivity_timeout`: for how long a handler stays in memory while it waits. A model call or a tool that takes longer than
      this and `abort_timeout` together is called again
    - `max_conversation_bytes`: what a conversation may have in JSON; by default 30 MiB, as Restate's own `message-size-limit` is
      32 MiB. A message that there is no room for is refused with the status 413. A run that makes it larger fails with it, and
      leaves the conversation as it was, without what the run took in
    - `options`: those of `Agent` that are plain values. Hooks and middleware are not: they would have to do the same in each
      replay

    Serve the app over HTTP/2, as Hypercorn does. Raises `InvalidArgumentError` for a wrong option.
    """
    for option in options:
        if option in _native.HOOKS or option in CALLBACKS:
            text = "is a function, which a run on Restate cannot replay; use tools, and their needs_approval"
            raise InvalidArgumentError(f'option "{option}" {text}')
        if option in OF_CONVERSATION:
            raise InvalidArgumentError(f'option "{option}": the conversation of a session is kept by Restate; leave it out')
    definition = Definition(name, model, tools_of(tools), options, max_conversation_bytes)
    agent = VirtualObject(name, description=f"The agent {name}; the key is the session.")
    inbox = Inbox(agent)
    slow: dict[str, Any] = {"inactivity_timeout": inactivity_timeout, "abort_timeout": abort_timeout}

    @agent.handler(name="prompt", **slow)
    async def prompt(ctx: ObjectContext, message: Any) -> Any:
        """Prompts the agent; returns the result of the run."""
        return await Conversation(ctx, definition, inbox).run(prompt=message)

    @agent.handler(name="resume", **slow)
    async def resume(ctx: ObjectContext) -> Any:
        """Goes on from the conversation; returns the result of the run."""
        return await Conversation(ctx, definition, inbox).run()

    async def put(ctx: ObjectSharedContext, kind: str, message: Any) -> Any:
        stored = await ctx.get("conversation", BYTES)
        return await inbox.call(ctx, "put", {"type": kind, "message": message, "room": definition.room(stored)})

    @agent.handler(name="steer", kind="shared")
    async def steer(ctx: ObjectSharedContext, message: Any) -> Any:
        """Steers the active run; returns joined or queued."""
        return await put(ctx, "steer", message)

    @agent.handler(name="follow_up", kind="shared")
    async def follow_up(ctx: ObjectSharedContext, message: Any) -> Any:
        """Queues a message for the end of the active run; returns joined or queued."""
        return await put(ctx, "follow_up", message)

    @agent.handler(name="abort", kind="shared")
    async def abort(ctx: ObjectSharedContext) -> bool:
        """Aborts the active run; returns whether there is one."""
        return bool(await inbox.call(ctx, "put", ABORT) == "joined")

    @agent.handler(name="decide", kind="shared")
    async def decide(ctx: ObjectSharedContext, decisions: Any) -> None:
        """Decides about the calls that wait."""
        kept = await stored(ctx, "conversation")
        # A loop without decisions resumes.
        decided = {} if decisions is None else decisions
        with raised():
            definition.loop(decisions=decided, export=kept.get("export"))
        await inbox.call(ctx, "decide", decided)

    @agent.handler(name="state", kind="shared")
    async def state(ctx: ObjectSharedContext) -> Any:
        """The conversation as it was after the last run, or when calls began to wait."""
        kept = await stored(ctx, "conversation")
        now = await inbox.call(ctx, "state")
        ids = now.pop("suspended")
        pending = [call for call in kept.get("pending", []) if call["tool_call_id"] in ids]
        return {"messages": kept.get("export", {}).get("messages", []), "pending": pending, **now}

    return agent
