"""A collector that reads OTLP over HTTP in JSON with the messages of OpenTelemetry itself: what these do not know fails."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

MESSAGES = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}


def with_bytes(value):
    """OTLP writes ids in hexadecimal, where protobuf's JSON has base64."""
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        name: base64.b64encode(bytes.fromhex(item)).decode() if name in ids else with_bytes(item)
        for name, item in value.items()
    }


class Collector:
    """Answers with the statuses it is given, then with 200."""

    def __init__(self, *statuses):
        self.statuses = list(statuses)
        self.requests, self.headers, self.errors = [], [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                status = outer.take(self.path, dict(self.headers), body)
                self.send_response(status)
                self.send_header("content-length", "2")
                self.send_header("retry-after", "0")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, headers, body):
        if self.statuses:
            return self.statuses.pop(0)
        try:
            self.requests.append(json_format.ParseDict(with_bytes(json.loads(body)), MESSAGES[path]()))
            self.headers.append({name.lower(): value for name, value in headers.items()})
        except Exception as error:  # What is wrong is for the test.
            self.errors.append(f"{path}: {error}")
            return 400
        return 200

    def spans(self):
        traces = [request for request in self.requests if isinstance(request, ExportTraceServiceRequest)]
        return [span for request in traces for of in request.resource_spans for scope in of.scope_spans for span in scope.spans]

    def resource(self):
        traces = [request for request in self.requests if isinstance(request, ExportTraceServiceRequest)]
        return {one.key: value(one.value) for one in traces[0].resource_spans[0].resource.attributes}

    def metrics(self):
        """The last ones: they are sums."""
        found = {}
        for request in self.requests:
            if isinstance(request, ExportMetricsServiceRequest):
                for of in request.resource_metrics:
                    for scope in of.scope_metrics:
                        found.update({metric.name: metric for metric in scope.metrics})
        return found

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def value(given):
    kind = given.WhichOneof("value")
    if kind == "array_value":
        return ",".join(value(item) for item in given.array_value.values)
    return getattr(given, kind)
