"""Calls that wait for approval, from one process to the next:

    python approvals.py [--events] [--store] MODEL STATE PROMPT
    python approvals.py [--events] [--store] MODEL STATE --decide DECISIONS

STATE is a file with the conversation, which the programs of all languages read and write; with the variable AGENT_STATE_KEY it
is signed. With `--store`, STATE is a store, such as `agents.db`, which has it in the session `approvals`. DECISIONS is JSON, such
as `{"call_1": "approve"}`. `--events` prints each event's JSON instead of the transcript.
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

from agent_loop import Agent, AgentError, Run, Store, TextDelta, ToolContext, ToolExecutionEnd, tool


@tool
async def price(item: str) -> str:
    """The price of an item."""
    return f"{item}: 12.50"


@tool(needs_approval=True)
async def order(context: ToolContext, item: str, count: int = 1, options: dict[str, object] | None = None) -> str:
    """Orders an item, or several."""
    await context.sleep(10 * count)
    return f"ordered: {item}"


@tool(needs_approval=True, execution_mode="sequential")
async def pay(to: str, amount: float) -> str:
    """Pays an amount, one payment at a time."""
    return f"paid to {to}"


TOOLS = [price, order, pay]


async def show(run: Run, as_events: bool) -> None:
    async with run:
        async for event in run:
            match event:
                case event if as_events:
                    print(event.to_json())
                case TextDelta(delta=text):
                    print(text, end="", flush=True)
                case ToolExecutionEnd(tool_name=name, result=result):
                    print(f"[{name} -> {result.text}]")
    if not as_events:
        ended = await run.result()
        print(f"\n[{ended.outcome}]")
        for call in ended.pending:
            arguments = json.dumps(call.arguments, separators=(",", ":"), ensure_ascii=False)
            print(f"{call.tool_call_id} {call.tool_name} {arguments}: {call.reason}")


async def play(agent: Agent, prompt: str, decisions: str | None, as_events: bool) -> None:
    run = agent.stream(prompt) if decisions is None else agent.stream_resume(json.loads(decisions))
    await show(run, as_events)


async def in_store(model: str, address: str, prompt: str, decisions: str | None, as_events: bool) -> None:
    async with Store.open(address).session("approvals").open() as session:
        await play(Agent(model, tools=TOOLS, session=session), prompt, decisions, as_events)


async def in_file(model: str, state: Path, prompt: str, decisions: str | None, as_events: bool) -> None:
    key = os.environ.get("AGENT_STATE_KEY")
    if state.exists():
        agent = Agent.from_export(state.read_text("utf-8"), model, key=key, tools=TOOLS)
    else:
        agent = Agent(model, tools=TOOLS)
    await play(agent, prompt, decisions, as_events)
    state.write_text(agent.export(key), "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage="approvals [--events] [--store] MODEL STATE (PROMPT | --decide DECISIONS)")
    parser.add_argument("--events", action="store_true")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("state", metavar="STATE")
    parser.add_argument("--decide", metavar="DECISIONS")
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", default="")
    options = parser.parse_args()
    if (options.prompt == "") == (options.decide is None):
        parser.error("give either PROMPT or --decide DECISIONS")
    given = (options.prompt, options.decide, options.events)
    try:
        if options.store:
            asyncio.run(in_store(options.model, options.state, *given))
        else:
            asyncio.run(in_file(options.model, Path(options.state), *given))
    except AgentError as error:
        sys.exit(f"{error.kind}: {error}")
