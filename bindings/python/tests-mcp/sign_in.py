"""A client that MCP's conformance suite runs: `sign_in.py ADDRESS` signs in to a server, and calls each of its tools."""

from __future__ import annotations

import asyncio
import sys
import urllib.request

from agent_loop import Agent, McpSignIn


def sign_in(request: McpSignIn) -> None:
    # As a browser whose user is signed in already: it is sent on to where the engine listens.
    with urllib.request.urlopen(request.url) as page:
        print(page.read().decode())


async def main() -> None:
    nothing = {"provider": "scripted", "id": "none", "script": []}
    agent = Agent(nothing, mcp=[{"url": sys.argv[1], "oauth": True}], on_mcp_sign_in=sign_in)
    calls = [{"delta": {"tool_call": {"name": tool["name"], "arguments": {}}}} for tool in await agent.mcp_tools()]
    script = [[*calls, {"end": "tool_use"}], [{"delta": "done"}, {"end": "stop"}]]
    agent.model = {"provider": "scripted", "id": "s", "script": script}
    print(*(await agent.prompt("Call them all.")).messages, sep="\n")
    await agent.close_mcp()


asyncio.run(main())
