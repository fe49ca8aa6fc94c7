"""A program with a tool. `python weather.py [MODEL [BASE_URL]]`"""

import asyncio
import sys

from agent_loop import Agent, AgentError, TextDelta, ToolExecutionStart, tool


@tool
async def weather(city: str) -> dict[str, object]:
    """The weather in a city."""
    return {"city": city, "sky": "rain", "celsius": 7}


async def main(model: str = "anthropic/claude-sonnet-4-5", base_url: str | None = None) -> None:
    agent = Agent(model, system_prompt="Be brief.", tools=[weather], base_url=base_url)
    async with agent.stream("Rain in Oslo?") as run:
        async for event in run:
            match event:
                case TextDelta(delta=text):
                    print(text, end="", flush=True)
                case ToolExecutionStart(tool_name=name):
                    print(f"[{name}]")
        result = await run.result()
    print(f"\n{result.usage.total} tokens")


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except AgentError as error:
        sys.exit(f"{error.kind}: {error}")
