#!/usr/bin/env python3
"""Calls each tool of MCP's everything-server from C: everything_c.py PROGRAM, which is examples/c/mcp.c, built.

Run it with with_server.py, which has the server. The last line counts: N passed, N failed, N skipped.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

CALLS = json.loads((Path(__file__).parent / "everything.json").read_text(encoding="utf-8"))
SERVERS = {"stdio": ["node", os.environ["MCP_EVERYTHING"]], "http": [os.environ["MCP_EVERYTHING_URL"]]}


def model():
    """A model that makes the calls, each in a turn of its own, and then ends."""
    calls = [
        [
            {"delta": {"tool_call": {"id": f"c{at}", "name": call["tool"], "arguments": call["arguments"]}}},
            {"end": "tool_use"},
        ]
        for at, call in enumerate(CALLS)
    ]
    return json.dumps({"provider": "scripted", "id": "s", "script": [*calls, [{"delta": "done"}, {"end": "stop"}]]})


def main():
    failed = 0
    for way, server in SERVERS.items():
        command = [sys.argv[1], model(), "Call them all.", *server]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        rest, missing = ended.stdout, []
        for call in CALLS:
            start = f"[{call['tool']}{' failed' if call.get('is_error') else ''}] "
            before, found, rest = rest.partition(start)
            if not found or call["text"] not in rest:
                missing.append(call["tool"])
        if ended.returncode or missing or not rest.rstrip().endswith("done"):
            failed += 1
            print(f"FAILED {way}: exit code {ended.returncode}, missing: {missing}\n{ended.stdout}\n{ended.stderr}")
    print(f"{len(SERVERS) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
