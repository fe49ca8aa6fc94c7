"""The agent my-agent: its prompt and its tools. `python agent.py --help` shows what else it can do."""

from agent_loop import AgentSpec, main, tool


@tool
def word_count(text: str) -> int:
    """Counts the words of a text."""
    return len(text.split())


if __name__ == "__main__":
    main(
        AgentSpec(
            "my-agent",
            description="Answers questions about texts.",
            system_prompt="You answer questions about texts. Count with your tool.",
            tools=[word_count],
        )
    )
