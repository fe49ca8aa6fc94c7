"""An agent that is a server of the Model Context Protocol. `python mcp_server.py [MODEL]`

Give it to any client of MCP as the command of a server: {"command": "python", "args": ["mcp_server.py"]}
"""

import asyncio
import sys

from agent_loop import Agent, tool


@tool
def weather(city: str) -> str:
    """The current weather in a city."""
    return f"It rains in {city}."


agent = Agent(
    sys.argv[1] if len(sys.argv) > 1 else "anthropic/claude-sonnet-4-5",
    system_prompt="You know the weather. Be brief.",
    tools=[weather],
)
# Until the client closes it. `tools=True` serves `weather`, too.
asyncio.run(agent.serve_mcp(name="weather_desk", description="Answers questions about the weather.", server_name="weather"))
