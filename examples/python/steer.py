"""Steers a run while its tools are running. `python steer.py [MODEL [BASE_URL]]`"""

import asyncio
import sys

from agent_loop import (
    Agent,
    AgentError,
    MessageStart,
    Run,
    TextDelta,
    ToolContext,
    ToolExecutionEnd,
    ToolExecutionStart,
    UserMessage,
    tool,
)


@tool(execution_mode="sequential")
async def weather(city: str, context: ToolContext) -> str:
    """The weather in a city."""
    await context.sleep(1000)  # an abort would end it
    return "rain, 7 degrees"


async def main(model: str = "anthropic/claude-sonnet-4-5", base_url: str | None = None) -> None:
    agent = Agent(model, tools=[weather], base_url=base_url)
    steered = False

    def listen(event: object) -> None:
        # The user steers when the first tool starts.
        nonlocal steered
        if isinstance(event, ToolExecutionStart) and not steered:
            steered = True
            agent.steer("Never mind the others.")

    agent.subscribe(listen)
    await show(agent.stream("Rain in Oslo, Bergen, Tromso?"))
    # What was steered when the run had just ended ("queued") waits for another one.
    while run := agent.stream_resume_if_queued():
        await show(run)


async def show(run: Run) -> None:
    async with run:
        async for event in run:
            match event:
                case MessageStart(message=UserMessage() as message):
                    print(f"User: {message.text}")
                case TextDelta(delta=text):
                    print(text, end="", flush=True)
                case ToolExecutionEnd(tool_name=name, result=result):  # also of skipped calls
                    print(f"[{name} -> {result.text}]")
    print(f"\n[{(await run.result()).outcome}]")


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except AgentError as error:
        sys.exit(f"{error.kind}: {error}")
