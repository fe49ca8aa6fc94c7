"""Spans and measurements, as the SDK of OpenTelemetry gets them: those of scenarios are compared with their spans.json.

`RECORD=1` writes spans.json instead. Read it before you commit it.
"""

import asyncio
import json
import os
import subprocess
import sys

import pytest
from agent_loop import Agent, InvalidArgumentError, tool
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from player import Player
from scripts import ROOT

FOLDERS = sorted(path.parent for path in (ROOT / "tests/scenarios").glob("*/spans.json"))

# What is another value in each run, or another one in real time.
UNSTABLE = {"gen_ai.conversation.id", "agent_loop.run.id", "gen_ai.response.time_to_first_chunk"}
REMOTE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider
    provider.shutdown()


@pytest.fixture(scope="module")
def reader():
    """The meter provider of the process, which can be set once."""
    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider([reader]))
    return reader


def tree(spans):
    """Spans as spans.json has them: by their parents, in any order."""

    def node(span):
        attributes = {name: ",".join(value) if isinstance(value, tuple) else value for name, value in span.attributes.items()}
        found = {
            "name": span.name,
            "kind": span.kind.name.lower(),
            "attributes": {name: value for name, value in sorted(attributes.items()) if name not in UNSTABLE},
        }
        if span.status.status_code is trace.StatusCode.ERROR:
            found["error"] = span.status.description or ""
        if span.links:
            found["links"] = [names[link.context.span_id] for link in span.links]
        children = [node(other) for other in spans if other.parent is not None and other.parent.span_id == span.context.span_id]
        return {**found, "children": in_order(children)} if children else found

    names = {span.context.span_id: span.name for span in spans}
    return in_order([node(span) for span in spans if span.parent is None or span.parent.span_id not in names])


def in_order(nodes):
    return sorted(nodes, key=lambda node: json.dumps(node, sort_keys=True))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
async def test_scenario(folder, provider, exporter):
    scenario = json.loads((folder / "scenario.json").read_text())
    scenario["options"] = {**scenario.get("options", {}), "traces": provider}
    await Player(scenario).play(scenario["steps"])
    found = tree(exporter.get_finished_spans())
    if "RECORD" in os.environ:
        (folder / "spans.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    expected = json.loads((folder / "spans.json").read_text())
    assert json.loads(json.dumps(found)) == expected


def test_scenarios_are_found():
    assert len(FOLDERS) >= 10


CALL = {"tool_call": {"id": "c", "name": "look", "arguments": {}}}


def looking(look, **options):
    model = {"provider": "scripted", "id": "s", "script": [
        [{"delta": CALL}, {"end": {"stop_reason": "tool_use"}}],
        [{"delta": "Done."}, {"end": {"stop_reason": "stop"}}],
    ]}
    return Agent(model, tools=[look], **options)


def named(spans, start):
    return next(span for span in spans if span.name.startswith(start))


async def test_spans_join_the_trace_of_the_host_and_have_that_of_its_tools(provider, exporter):
    tracer = provider.get_tracer("test")

    @tool
    async def look() -> str:
        """Looks."""
        with tracer.start_as_current_span("inside"):
            await asyncio.sleep(0)
        return "seen"

    with tracer.start_as_current_span("outside"):
        await looking(look, traces=provider).prompt("go")
    spans = exporter.get_finished_spans()
    for inner, outer in [("inside", "execute_tool look"), ("execute_tool", "invoke_agent"), ("chat s", "invoke_agent"),
                         ("invoke_agent", "outside")]:
        assert named(spans, inner).parent.span_id == named(spans, outer).context.span_id, inner
    assert len({span.context.trace_id for span in spans}) == 1


def test_a_plain_function_runs_in_its_span(provider, exporter):
    tracer = provider.get_tracer("test")

    @tool
    def look() -> str:
        """Looks."""
        tracer.start_span("inside").end()
        return "seen"

    looking(look, traces=provider).prompt_sync("go")
    spans = exporter.get_finished_spans()
    assert named(spans, "inside").parent.span_id == named(spans, "execute_tool look").context.span_id


async def test_two_runs_at_once_have_traces_of_their_own(provider, exporter):
    @tool
    async def look() -> str:
        """Looks."""
        await asyncio.sleep(0.01)
        return "seen"

    await asyncio.gather(*(looking(look, traces=provider).prompt("go") for _ in range(5)))
    spans = exporter.get_finished_spans()
    traces = {}
    for span in spans:
        traces.setdefault(span.context.trace_id, []).append(span)
    assert [len(tree(of)) for of in traces.values()] == [1] * 5
    assert [len(of) for of in traces.values()] == [4] * 5


async def test_a_run_joins_the_trace_of_a_request(provider, exporter):
    @tool
    async def look() -> str:
        """Looks."""
        return "seen"

    await looking(look, traces=provider).prompt("go", traceparent=REMOTE)
    spans = exporter.get_finished_spans()
    assert {span.context.trace_id for span in spans} == {0x4BF92F3577B34DA6A3CE929D0E0E4736}
    root = named(spans, "invoke_agent")
    assert (root.parent.span_id, root.parent.is_remote) == (0x00F067AA0BA902B7, True)


async def test_spans_have_ended_when_a_stream_has(provider, exporter):
    @tool
    async def look() -> str:
        """Looks."""
        return "seen"

    for _ in range(20):
        exporter.clear()
        async with looking(look, traces=provider).stream("go") as run:
            async for _event in run:
                pass
            assert len(exporter.get_finished_spans()) == 4


async def test_a_resumed_run_is_linked_to_the_one_that_was_suspended(provider, exporter):
    @tool(needs_approval=True)
    async def look() -> str:
        """Looks."""
        return "seen"

    agent = looking(look, traces=provider)
    assert (await agent.prompt("go")).outcome == "suspended"
    await agent.resume({"c": "approve"})
    first, second = (span for span in exporter.get_finished_spans() if span.name == "invoke_agent")
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert second.context.trace_id != first.context.trace_id
    assert first.attributes["agent_loop.outcome"] == "suspended"


async def test_content_is_recorded_only_when_asked_for(provider, exporter):
    @tool
    async def look() -> str:
        """Looks."""
        return "a secret result"

    for asked in (False, True):
        exporter.clear()
        await looking(look, traces=provider, trace_content=asked, system_prompt="Be brief.").prompt("a secret question")
        spans = exporter.get_finished_spans()
        text = json.dumps([dict(span.attributes) for span in spans])
        assert ("a secret result" in text, "a secret question" in text) == (asked, asked)
    call = [span for span in spans if span.name == "chat s"][1].attributes
    assert json.loads(call["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    assert json.loads(call["gen_ai.input.messages"])[2] == {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "c", "response": "a secret result"}],
    }
    assert json.loads(call["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}
    ]


async def test_measurements(provider, reader):
    @tool
    async def look() -> str:
        """Looks."""
        return "seen"

    await looking(look, traces=provider, agent_name="measured").prompt("go")
    found = {}
    for resource in reader.get_metrics_data().resource_metrics:
        for scope in resource.scope_metrics:
            assert scope.scope.name == "agent_loop"
            for metric in scope.metrics:
                found[metric.name] = metric
    duration = found["gen_ai.client.operation.duration"]
    assert (duration.unit, duration.data.data_points[0].explicit_bounds[:3]) == ("s", (0.01, 0.02, 0.04))
    points = [point for point in found["gen_ai.invoke_agent.duration"].data.data_points
              if point.attributes.get("gen_ai.agent.name") == "measured"]
    assert [point.count for point in points] == [1]
    assert found["gen_ai.execute_tool.duration"].data.data_points[0].attributes["gen_ai.tool.name"] == "look"


async def test_one_model_call_has_spans_too(provider, exporter):
    from agent_loop import complete

    model = {"provider": "scripted", "id": "s", "script": [[{"delta": "Done."}, {"end": {"stop_reason": "stop"}}]]}
    await complete(model, "go", traces=provider)
    assert [node["name"] for node in tree(exporter.get_finished_spans())] == ["invoke_agent"]


async def test_traces_can_be_switched_off_and_on(provider, exporter):
    @tool
    async def look() -> str:
        """Looks."""
        return "seen"

    agent = looking(look)
    await agent.prompt("go")
    agent.set_options(traces=provider)
    model = {"provider": "scripted", "id": "t", "script": [[{"delta": "Done."}, {"end": {"stop_reason": "stop"}}]]}
    agent.model = model
    await agent.prompt("go")
    assert [node["name"] for node in tree(exporter.get_finished_spans())] == ["invoke_agent"]
    agent.set_options(traces=False)
    agent.model = {**model, "id": "u"}
    await agent.prompt("go")
    assert len(exporter.get_finished_spans()) == 2


def test_what_is_no_tracer_provider_is_refused():
    with pytest.raises(InvalidArgumentError, match='option "traces": expected true or false, or a tracer provider of OpenT'):
        Agent("scripted/s", traces=object())


def test_without_opentelemetry_the_error_says_so():
    program = """
import sys
sys.modules["opentelemetry"] = None
import agent_loop
model = {"provider": "scripted", "id": "s", "script": [[{"delta": "Hi."}, {"end": {"stop_reason": "stop"}}]]}
print(agent_loop.Agent(model).prompt_sync("go").text)
try:
    agent_loop.Agent(model, traces=True)
except agent_loop.InvalidArgumentError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, second = ran.stdout.strip().splitlines()
    assert first == "Hi."
    assert "the package opentelemetry-api is not installed" in second
