"""A complete agent, with flags, a chat and sessions: `python agent.py --help`."""

from agent_loop import AgentSpec, main, tool


@tool
async def calculator(operation: str, a: float, b: float) -> float:
    """Calculates with two numbers."""
    return {"add": a + b, "multiply": a * b}[operation]


main(AgentSpec("calculator", system_prompt="Calculate with the tool.", tools=[calculator]))
