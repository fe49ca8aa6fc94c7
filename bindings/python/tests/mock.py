"""A model server of our own (tests/mock) beside a test."""

import contextlib
import json
import os
import subprocess
import urllib.request
from pathlib import Path

from scripts import ROOT


def program():
    """The built agent-mock."""
    if named := os.environ.get("AGENT_MOCK"):
        return Path(named)
    built = ROOT / "target/ci/agent-mock"
    if not built.exists():
        subprocess.run(["cargo", "build", "--quiet", "--profile", "ci", "-p", "agent-mock"], cwd=ROOT, check=True)
    return built


@contextlib.contextmanager
def mock(folder, *answers):
    """Serves the answers; gives the address."""
    script = folder / "script.json"
    script.write_text(json.dumps({"answers": list(answers)}))
    with subprocess.Popen([program(), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


def chat(*deltas, end="stop"):
    """A body of the chat protocol: a frame for each delta, the stop, the closing line."""
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas] + [
        {"index": 0, "delta": {}, "finish_reason": end}
    ]
    frames = [json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [chunk]}) for chunk in chunks]
    return "".join(f"data: {frame}\n\n" for frame in [*frames, "[DONE]"])


def asked(url):
    """The requests so far."""
    with urllib.request.urlopen(f"{url}/__requests") as answer:
        return json.load(answer)
