"""Plays a recorded run again and prints its events, one a line. `python replay.py FILE [RUN]`"""

import asyncio
import sys

import agent_loop
from agent_loop import AgentError


async def main(recording: str, run: str = "1") -> None:
    async with agent_loop.replay(recording, int(run)) as played:
        async for event in played:
            print(event.to_json())


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except AgentError as error:
        sys.exit(f"{error.kind}: {error}")
