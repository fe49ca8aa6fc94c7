"""The smallest program: one prompt, the answer as it comes. `python hello.py [MODEL [BASE_URL]]`"""

import asyncio
import sys

from agent_loop import Agent, AgentError, TextDelta


async def main(model: str = "anthropic/claude-sonnet-4-5", base_url: str | None = None) -> None:
    agent = Agent(model, base_url=base_url)
    async with agent.stream("Say hello.") as run:
        async for event in run:
            match event:
                case TextDelta(delta=text):
                    print(text, end="", flush=True)
    print()


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except AgentError as error:
        sys.exit(f"{error.kind}: {error}")
