"""Calls that wait for approval, from one process to the next:

    python approvals.py [--events] MODEL STATE PROMPT
    python approvals.py [--events] MODEL STATE --decide DECISIONS

STATE is a file with the conversation, which the programs of all languages read and write; with the variable AGENT_STATE_KEY it
is signed. DECISIONS is JSON, such as `{"call_1": "approve"}`. `--events` prints each event's JSON instead of the transcript.
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

from agent_loop import Agent, AgentError, Run, TextDelta, ToolContext, ToolExecutionEnd, tool


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


async def main(model: str, state: Path, prompt: str, decisions: str | None, as_events: bool) -> None:
    key = os.environ.get("AGENT_STATE_KEY")
    tools = [price, order, pay]
    if state.exists():
        agent = Agent.from_export(state.read_text("utf-8"), model, key=key, tools=tools)
    else:
        agent = Agent(model, tools=tools)
    run = agent.stream(prompt) if decisions is None else agent.stream_resume(json.loads(decisions))
    await show(run, as_events)
    state.write_text(agent.export(key), "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage="approvals [--events] MODEL STATE (PROMPT | --decide DECISIONS)")
    parser.add_argument("--events", action="store_true")
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("state", metavar="STATE", type=Path)
    parser.add_argument("--decide", metavar="DECISIONS")
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", default="")
    options = parser.parse_args()
    if (options.prompt == "") == (options.decide is None):
        parser.error("give either PROMPT or --decide DECISIONS")
    try:
        asyncio.run(main(options.model, options.state, options.prompt, options.decide, options.events))
    except AgentError as error:
        sys.exit(f"{error.kind}: {error}")
