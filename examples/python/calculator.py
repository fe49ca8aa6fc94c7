"""A conversation with a tool: `python calculator.py [--events] MODEL [BASE_URL [SECOND_MODEL]]`

A model is `provider/id`, or a JSON object. SECOND_MODEL takes over for the second prompt. `--events` prints each
event's JSON instead of the transcript.
"""

import argparse
import asyncio
import json
import sys
from typing import Literal

from agent_loop import (
    Agent,
    AgentEnd,
    AgentError,
    Event,
    TextDelta,
    TextEnd,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnStart,
    tool,
)


@tool(description="Perform basic arithmetic operations")
async def calculator(operation: Literal["add", "subtract", "multiply", "divide"], a: float, b: float) -> dict[str, float]:
    match operation:
        case "add":
            result = a + b
        case "subtract":
            result = a - b
        case "multiply":
            result = a * b
        case "divide":
            result = a / b  # the model gets an exception as an error result
        case _:
            raise ValueError(f"unknown operation {operation}")
    return {"result": int(result) if result == int(result) else result}


def show(event: Event) -> None:
    match event:
        case TurnStart(turn=turn):
            print(f"[turn {turn}]")
        case TextDelta(delta=text):
            print(text, end="", flush=True)
        case TextEnd():
            print()
        case ToolExecutionStart(tool_name=name, arguments=arguments):
            print(f"[calling {name} {json.dumps(arguments, separators=(',', ':'))}]")
        case ToolExecutionEnd(tool_name=name, result=result):
            print(f"[{name} -> {result.text}]")
        case AgentEnd(outcome=outcome):
            print(f"[{outcome}]")


async def ask(agent: Agent, prompt: str, as_events: bool) -> None:
    if not as_events:
        print(f"User: {prompt}")
    async with agent.stream(prompt) as run:
        async for event in run:
            if as_events:
                print(event.to_json())
            else:
                show(event)


async def main(model: str, base_url: str | None, second_model: str | None, as_events: bool) -> None:
    agent = Agent(model, tools=[calculator], base_url=base_url, temperature=0 if base_url else None)
    await ask(agent, "What is 15 multiplied by 23?", as_events)
    if second_model:
        agent.model = second_model
    await ask(agent, "Now divide that by 5", as_events)
    if not as_events:
        print("Conversation:", ", ".join(message.role for message in agent.messages))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage="calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]")
    parser.add_argument("--events", action="store_true")
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("base_url", metavar="BASE_URL", nargs="?")
    parser.add_argument("second_model", metavar="SECOND_MODEL", nargs="?")
    options = parser.parse_args()
    try:
        asyncio.run(main(options.model, options.base_url, options.second_model, options.events))
    except AgentError as error:
        sys.exit(f"{error.kind}: {error}")
