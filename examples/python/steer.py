"""Two words during a run: one that it takes up at once, one for when it would end. `python steer.py [MODEL [BASE_URL]]`"""

import asyncio
import sys

from agent_loop import Agent, MessageEnd, TextDelta, ToolExecutionStart, UserMessage, tool


@tool
async def weather(city: str) -> dict:
    """The weather in a city."""
    return {"city": city, "sky": "rain", "celsius": 7}


async def main(model: str = "anthropic/claude-sonnet-4-5", base_url: str | None = None) -> None:
    agent = Agent(model, system_prompt="Be brief.", tools=[weather], base_url=base_url)
    async with agent.stream("Rain in Oslo?") as run:
        run.follow_up("Thanks. And what shall I wear?")
        async for event in run:
            match event:
                case ToolExecutionStart(turn=1):
                    run.steer("In Fahrenheit, please.")
                case TextDelta(delta=text):
                    print(text, end="", flush=True)
                case MessageEnd(message=UserMessage() as message):
                    print(f"\n> {message.text}")
        await run.result()
    print()


asyncio.run(main(*sys.argv[1:]))
