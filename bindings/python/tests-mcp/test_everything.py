"""Each tool of MCP's everything-server, over both transports: tests/mcp/with_server.py has the server."""

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent_loop import Agent, McpElicitation, McpSampling, ToolExecutionUpdate

CALLS = json.loads((Path(__file__).parents[3] / "tests/mcp/everything.json").read_text(encoding="utf-8"))
SERVERS: dict[str, Any] = {
    "stdio": {"command": "node", "args": [os.environ["MCP_EVERYTHING"]]},
    "http": {"url": os.environ["MCP_EVERYTHING_URL"]},
}


def scripted(calls: list[tuple[str, Any]]) -> dict[str, Any]:
    """A model that makes these calls, each in a turn of its own, and then ends."""
    call = [
        [{"delta": {"tool_call": {"id": f"c{at}", "name": name, "arguments": arguments}}}, {"end": "tool_use"}]
        for at, (name, arguments) in enumerate(calls)
    ]
    return {"provider": "scripted", "id": "s", "script": [*call, [{"delta": "done"}, {"end": "stop"}]]}


@pytest.mark.parametrize("way", SERVERS)
def test_each_tool_of_the_everything_server_is_called(way: str) -> None:
    asyncio.run(call_each_tool(SERVERS[way]))


async def call_each_tool(server: Any) -> None:
    model = scripted([(call["tool"], call["arguments"]) for call in CALLS])
    agent = Agent(model, mcp=[server], max_turns=0)
    updates: Counter[str] = Counter()

    def count(event: object) -> None:
        if isinstance(event, ToolExecutionUpdate):
            updates[event.tool_name] += 1

    agent.subscribe(count)
    result = await agent.prompt("Call them all.")
    results = [message for message in result.messages if message.role == "tool_result"]
    assert [message.tool_name for message in results] == [call["tool"] for call in CALLS]
    for call, message in zip(CALLS, results, strict=True):
        assert [block.type for block in message.content] == call["blocks"]
        assert call["text"] in message.text
        assert message.is_error == call.get("is_error", False)
        assert updates[call["tool"]] >= call.get("updates", 0)
        if "details" in call:
            assert call["details"] in message.details
    await agent.close_mcp()


def test_tools_are_known_before_a_run_when_it_is_asked_for() -> None:
    asyncio.run(call_a_tool_by_name())


async def call_a_tool_by_name() -> None:
    agent = Agent(scripted([("x_echo", {"message": "hi"})]), mcp=[SERVERS["stdio"] | {"prefix": "x_", "include": ["echo"]}])
    await agent.connect_mcp()
    result = await agent.prompt("Echo.", tool_choice={"tool": "x_echo"})
    assert result.messages[2].text == "Echo: hi"


ASKS = ["trigger-sampling-request", "trigger-elicitation-request"]


@pytest.mark.parametrize("way", SERVERS)
def test_the_everything_server_asks_a_model_and_the_user(way: str) -> None:
    asyncio.run(be_asked(SERVERS[way] | {"include": ASKS, "name": "all"}))


async def be_asked(server: Any) -> None:
    async def sample(asked: McpSampling) -> str:
        await asyncio.sleep(0)
        assert (asked.server, asked.system_prompt) == ("all", "You are a helpful test server.")
        assert asked.request["temperature"] == pytest.approx(0.7)
        return f"{asked.prompt} {asked.max_tokens} Oslo"

    def elicit(asked: McpElicitation) -> dict[str, Any]:
        assert asked.requested_schema["required"] == ["name"]
        return {"action": "accept", "content": {"name": "Ann", "integer": 7}}

    calls = [(ASKS[0], {"prompt": "Which city?", "maxTokens": 7}), (ASKS[1], {})]
    agent = Agent(scripted(calls), mcp=[server], on_mcp_sampling=sample, on_mcp_elicitation=elicit)
    listed = {tool["name"]: tool for tool in await agent.mcp_tools()}
    assert set(listed) == set(ASKS)
    assert listed[ASKS[0]]["input_schema"]["required"] == ["prompt"]
    assert (listed[ASKS[0]]["server"], listed[ASKS[0]]["server_tool"]) == ("all", ASKS[0])
    result = await agent.prompt("Ask.")
    texts = [message.text for message in result.messages if message.role == "tool_result"]
    assert "context: Which city? 7 Oslo" in texts[0]
    assert "- Name: Ann" in texts[1] and "- Favorite Integer: 7" in texts[1]
    await agent.close_mcp()


def test_a_hook_that_raises_is_an_error_for_the_server_alone(caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(fail_to_answer())
    records: list[Any] = [record for record in caplog.records if record.name == "agent_loop"]
    assert [record.agent_loop["code"] for record in records] == ["hook_error"]


async def fail_to_answer() -> None:
    def fail(asked: McpSampling) -> None:
        raise ValueError(asked.prompt)

    calls = [(ASKS[0], {"prompt": "secret"})]
    agent = Agent(scripted(calls), mcp=[SERVERS["stdio"] | {"include": ASKS[:1]}], on_mcp_sampling=fail)
    result = await agent.prompt("Ask.")
    assert result.outcome == "completed"
    assert "on_mcp_sampling failed" in result.messages[2].text
    await agent.close_mcp()
