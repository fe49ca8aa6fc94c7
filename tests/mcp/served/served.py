"""An agent that is served, for the clients of ../serving.py; the same in Node: bindings/node/test-mcp/served.mjs."""

import asyncio
import os

from agent_loop import Agent, ToolContext, tool


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    print("this goes to standard error")
    return f"rain in {city}"


@tool
async def wait(context: ToolContext) -> str:
    """Waits until it is cancelled."""
    context.update("it waits")
    try:
        await asyncio.sleep(600)
    finally:
        with open(os.environ["NOTES"], "a", encoding="utf-8") as notes:
            notes.write("cancelled\n")
    return "nobody has cancelled it"


ANSWERS = [[{"delta": "It rains."}, {"end": "stop"}]] * 20
agent = Agent({"provider": "scripted", "id": "s", "script": ANSWERS}, tools=[weather, wait])
asyncio.run(agent.serve_mcp(name="desk", description="Knows the weather.", server_name="tests", tools=True))
