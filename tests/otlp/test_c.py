"""What libagent sends to a collector: the spans of scenarios are compared with their spans.json.

    AGENT_SCENARIOS=PROGRAM pytest tests/otlp

PROGRAM plays scenarios: tests/c/scenarios.c, built.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from collector import Collector, value
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

SCENARIOS = Path(__file__).parents[1] / "scenarios"
FOLDERS = sorted(path.parent for path in SCENARIOS.glob("*/spans.json"))
PROGRAM = os.environ["AGENT_SCENARIOS"]

# What is another value in each run, or another one in real time.
UNSTABLE = {"gen_ai.conversation.id", "agent_loop.run.id", "gen_ai.response.time_to_first_chunk"}
REMOTE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.close()


def play(folder, tmp_path, options=None, environment=None):
    """Plays a scenario whose agent has these options, too."""
    scenario = json.loads((SCENARIOS / folder / "scenario.json").read_text())
    scenario["options"] = scenario.get("options", {}) | options
    (tmp_path / "scenario.json").write_text(json.dumps(scenario))
    env = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")} | (environment or {})
    ran = subprocess.run([PROGRAM, tmp_path], env=env, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout), ran.stderr


def tree(spans):
    """Spans as spans.json has them: by their parents, in any order."""
    names = {span.span_id: span.name for span in spans}

    def node(span):
        attributes = {one.key: value(one.value) for one in span.attributes}
        found = {
            "name": span.name,
            "kind": Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
            "attributes": {name: given for name, given in sorted(attributes.items()) if name not in UNSTABLE},
        }
        if span.status.code == Status.STATUS_CODE_ERROR:
            found["error"] = span.status.message
        if span.links:
            found["links"] = [names[link.span_id] for link in span.links]
        children = [node(other) for other in spans if other.parent_span_id == span.span_id]
        return {**found, "children": in_order(children)} if children else found

    return in_order([node(span) for span in spans if span.parent_span_id not in names])


def in_order(nodes):
    return sorted(nodes, key=lambda node: json.dumps(node, sort_keys=True))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_scenario(folder, collector, tmp_path):
    play(folder.name, tmp_path, {"traces": collector.address})
    assert collector.errors == []
    expected = json.loads((folder / "spans.json").read_text())
    assert tree(collector.spans()) == in_order(expected)


def test_the_standard_variables_and_measurements(collector, tmp_path):
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"{collector.address}/",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b",
        "OTEL_SERVICE_NAME": "orders",
    }
    play("one_tool", tmp_path, {"traces": True}, environment)
    assert collector.errors == []
    assert {headers["x-key"] for headers in collector.headers} == {"a b"}
    assert collector.resource()["service.name"] == "orders"
    metrics = collector.metrics()
    duration = metrics["gen_ai.client.operation.duration"]
    [point] = duration.histogram.data_points
    assert (duration.unit, point.count, list(point.explicit_bounds[:3])) == ("s", 2, [0.01, 0.02, 0.04])
    assert sum(point.bucket_counts) == 2
    [tool] = metrics["gen_ai.execute_tool.duration"].histogram.data_points
    assert {one.key: value(one.value) for one in tool.attributes}["gen_ai.tool.name"] == "add"


def test_a_run_joins_the_trace_of_a_request(collector, tmp_path):
    play("plain_prompt", tmp_path, {"traces": collector.address, "traceparent": REMOTE})
    spans = collector.spans()
    assert {span.trace_id.hex() for span in spans} == {"4bf92f3577b34da6a3ce929d0e0e4736"}
    [root] = [span for span in spans if span.name == "invoke_agent"]
    assert root.parent_span_id.hex() == "00f067aa0ba902b7"


def test_a_caller_that_records_nothing_is_followed(collector, tmp_path):
    play("plain_prompt", tmp_path, {"traces": collector.address, "traceparent": REMOTE[:-1] + "0"})
    assert (collector.spans(), collector.errors) == ([], [])
    assert "gen_ai.client.operation.duration" in collector.metrics()


def test_what_is_lost_is_logged(tmp_path):
    collector = Collector(*[400] * 9)
    _, errors = play("plain_prompt", tmp_path, {"traces": collector.address}, {"AGENT_LOOP_LOG": "warn"})
    collector.close()
    assert "agent-loop warn traces_lost: spans or measurements did not reach the collector" in errors
    assert "the collector answered with the status 400" in errors
