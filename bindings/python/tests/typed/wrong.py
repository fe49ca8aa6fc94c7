"""Mistakes of users: mypy and pyright report each line that ends with `# wrong`, and no other one. See test_types.py."""

import agent_loop
from agent_loop import (
    AfterToolCall,
    Agent,
    BeforeToolCall,
    ContentBlock,
    Event,
    Message,
    MiddlewareCall,
    Next,
    TextDelta,
    ToolDecision,
    ToolOverride,
    ToolResult,
    TurnChange,
    TurnSummary,
    tool,
)
from agent_loop.options import ModelSpec
from typing_extensions import assert_never

Agent("openai/x", temprature=0)  # wrong
Agent("openai/x", tool_execution="both")  # wrong
Agent("openai/x").prompt_sync("x", temprature=0)  # wrong
Agent("openai/x").prompt_sync("x", api_key="k")  # wrong
Agent("openai/x").prompt_sync("x", output=int).output.city  # wrong
Agent("openai/x", tools=[lambda: 5])  # wrong
Agent("openai/x", before_tool_call="no")  # wrong
agent_loop.run({}, "x", model="openai/x", tools=[])  # wrong
model: ModelSpec = {"provider": "openai"}  # wrong


def before(call: BeforeToolCall) -> str:
    return call.tool_name


Agent("openai/x", before_tool_call=before)  # wrong


def of_a_turn(turn: agent_loop.TurnSummary) -> bool:
    return turn.turn == 3


Agent("openai/x", before_tool_call=of_a_turn)  # wrong


def decision(call: BeforeToolCall) -> ToolDecision | None:
    return {"blok": True}  # wrong


async def override(call: AfterToolCall) -> ToolOverride:
    return {"isError": True}  # wrong


def change(turn: TurnSummary) -> TurnChange:
    return {"context": {"prompt": "x"}}  # wrong


def result() -> ToolResult:
    return {"content": [], "terminated": True}  # wrong


def set_later(agent: Agent) -> None:
    agent.max_turn = 3  # wrong
    agent.set_hook("before_tol_call", before)  # wrong


async def link(call: MiddlewareCall, next: Next) -> None:
    await next("no")  # wrong
    (await next()).no  # wrong


def of_event(event: Event) -> None:
    print(event.delta)  # wrong
    if isinstance(event, TextDelta):
        print(event.detla)  # wrong
    elif event.type == "text_end":
        print(event.block.text)
    else:
        assert_never(event)  # wrong


def of_message(message: Message) -> None:
    print(message.tool_name)  # wrong


def of_block(block: ContentBlock) -> None:
    print(block.text, block.thinking)  # wrong


@tool(nam="x")  # wrong
def plain() -> str:
    """Does nothing."""
    return "x"


async def unread(agent: Agent) -> None:
    for event in agent.stream("x"):  # wrong
        print(event)
    print(agent.prompt("x").text)  # wrong
    agent.messages.append({})  # wrong
    TextDelta("x", content_index=0).delta = "y"  # wrong
