"""The programs of docs/integrations.md, as they stand there; only the model and the address of a server are others."""

import asyncio
import json
import re
import sys
from pathlib import Path

import httpx
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from test_web_servers import endless, serving

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import snippets  # noqa: E402

PROGRAMS = {feature.title: feature for feature in snippets.read(ROOT / "docs/integrations.md") if "python" in feature.snippets}


def program(title, model, replaced=()):
    """A program of the page with another model, and other replacements."""
    text = PROGRAMS[title].snippets["python"]
    for old, new in [('"anthropic/claude-sonnet-4-5"', model), *replaced]:
        assert old in text
        text = text.replace(old, new)
    return text


def scripted(title):
    """The model of a program as the page has it."""
    return repr(json.loads(PROGRAMS[title].model))


def test_each_program_is_tested():
    tested = {"A web server with FastAPI", "Traces with OpenTelemetry", "Tools of an MCP server"}
    assert set(PROGRAMS) == tested


def test_fastapi():
    text = program("A web server with FastAPI", '"own/model", provider=provider')

    async def provider(request):
        if request.messages[-1].text != "Hello.":
            async for word in endless(request):
                yield word
        yield f"Hello {len(request.messages)}."

    defined = {"provider": provider}
    exec(text, defined)
    conversations = defined["conversations"]

    async def talk(address):
        async with httpx.AsyncClient(timeout=30) as client:
            for count in (1, 3):
                response = await client.post(f"{address}/chat/a", json={"text": "Hello."})
                assert response.headers["content-type"].startswith("text/event-stream")
                kinds = re.findall(r"^event: (.*)$", response.text, re.M)
                events = [json.loads(data) for data in re.findall(r"^data: (.*)$", response.text, re.M)]
                assert kinds == [event["type"] for event in events]
                assert (kinds[0], kinds[-1]) == ("agent_start", "agent_end")
                assert [event["delta"] for event in events if event["type"] == "text_delta"] == [f"Hello {count}."]
                assert len(conversations["a"]) == count + 1
            async with client.stream("POST", f"{address}/chat/b", json={"text": "Talk."}) as response:
                async for line in response.aiter_lines():
                    if line == "event: text_delta":
                        break
            while "b" not in conversations:
                await asyncio.sleep(0.01)

    with serving(defined["app"]) as address:
        asyncio.run(asyncio.wait_for(talk(address), 60))
    assert [message.role for message in conversations["b"]] == ["user", "assistant"]
    kept = conversations["b"][-1]
    assert kept.stop_reason == "aborted"
    assert kept.text.startswith("word 0 ")


def test_opentelemetry():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    title = "Traces with OpenTelemetry"
    exec(program(title, scripted(title)), {})
    spans = exporter.get_finished_spans()
    lines = []
    for span in spans:
        usage = [span.attributes.get(f"gen_ai.usage.{which}_tokens") for which in ("input", "output")]
        lines.append(f"{span.name}: {usage[0]} in, {usage[1]} out\n" if usage[0] else f"{span.name}\n")
    assert "".join(lines) == PROGRAMS[title].output
    assert spans[-1].parent is None
    assert all(span.parent.span_id == spans[-1].context.span_id for span in spans[:-1])
    assert spans[0].attributes["gen_ai.response.finish_reasons"] == ("tool_use",)


def test_mcp(capsys):
    server = MCPServer("tests")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    @server.tool()
    def divide(a: int, b: int) -> CallToolResult:
        """Divides."""
        return CallToolResult(content=[TextContent(type="text", text="division by zero")], is_error=True)

    title = "Tools of an MCP server"
    exec(program(title, scripted(title), [('"http://127.0.0.1:8000/mcp"', "server")]), {"server": server})
    assert capsys.readouterr().out == PROGRAMS[title].output
