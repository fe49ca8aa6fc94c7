#!/usr/bin/env python3
"""Calls each tool of MCP's everything-server from C: everything_c.py PROGRAM STAGE, which are examples/c/mcp.c, built, and the
installed library. Also builds and runs asked.c, which the server asks.

Run it with with_server.py, which has the server. The last line counts: N passed, N failed, N skipped.
"""

import json
import os
import subprocess
import sys
import tempfile
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


def is_asked(stage):
    """Whether the server's requests are answered by hooks."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "asked"
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{stage}/include", f"-L{stage}/lib", f"-Wl,-rpath,{stage}/lib"]
        source = Path(__file__).parent / "asked.c"
        subprocess.run([os.environ.get("CC", "cc"), *flags, source, "-lagent", "-o", program], check=True)
        ended = subprocess.run([program, *SERVERS["stdio"]], capture_output=True, text=True, check=False, timeout=120)
    if ended.returncode:
        print(f"FAILED asked.c: exit code {ended.returncode}\n{ended.stderr}")
    return ended.returncode == 0


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
    failed += not is_asked(Path(sys.argv[2]).resolve())
    print(f"{len(SERVERS) + 1 - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
