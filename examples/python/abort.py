"""Aborts a run in the middle, after ten deltas of text. `python abort.py [MODEL [BASE_URL]]`"""

import asyncio
import sys

from agent_loop import Agent, AgentError, TextDelta


async def main(model: str = "anthropic/claude-sonnet-4-5", base_url: str | None = None) -> None:
    agent = Agent(model, base_url=base_url)
    async with agent.stream("Count from 1 to 1000.") as run:
        pieces = 0
        async for event in run:
            match event:
                case TextDelta(delta=text):
                    print(text, end="", flush=True)
                    pieces += 1
                    if pieces == 10:
                        run.abort()
        # The text so far is kept, in the result and in the transcript.
        result = await run.result()
    print(f"\n[{result.outcome}] after {len(result.text)} characters")


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except AgentError as error:
        sys.exit(f"{error.kind}: {error}")
