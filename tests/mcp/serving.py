#!/usr/bin/env python3
"""Agents that are served, with the clients of MCP's packages for Python and Node: serving.py LANGUAGE PROGRAM ARGUMENT…

Run it with with_server.py, which has the packages. The programs are those of served/, and in
Node bindings/node/test-mcp/served.mjs. The last line counts: N passed, N failed,
N skipped.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIENTS = Path(os.environ["MCP_TIME"]).parent / "python"
SDK = Path(os.environ["MCP_EVERYTHING"]).parents[2] / "sdk"
FIRST = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}\n'


async def use(program, *arguments):
    """As a client in Python: the interpreter of MCP's package runs this."""
    from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client

    parameters = StdioServerParameters(command=program, args=list(arguments), env=dict(os.environ))
    with open(os.devnull, "w") as nowhere:
        async with stdio_client(parameters, errlog=nowhere) as (reads, writes), ClientSession(reads, writes) as session:
            assert (await session.initialize()).server_info.name == "tests"
            await session.send_ping()
            assert {tool.name for tool in (await session.list_tools()).tools} == {"desk", "wait", "weather"}
            steps = []

            async def note(progress, total, message):
                steps.append(message)

            desk, city = await asyncio.gather(
                session.call_tool("desk", {"prompt": "Rain?"}, progress_callback=note),
                session.call_tool("weather", {"city": "Oslo"}),
            )
            assert [desk.content[0].text, city.content[0].text] == ["It rains.", "rain in Oslo"]
            assert steps == ["turn 1"], steps
            assert (await session.call_tool("weather", {})).is_error
            try:
                await session.call_tool("nothing", {})
            except MCPError as error:
                assert error.code == -32602, error
            else:
                raise AssertionError("a tool that does not exist was called")


def ends_with_its_input(program):
    """Whether the program writes messages alone, and ends when its input does."""
    ended = subprocess.run(program, input=FIRST + "no message\n", capture_output=True, text=True, check=False, timeout=60)
    lines = ended.stdout.splitlines()
    return ended.returncode == 0 and len(lines) == 2 and '"serverInfo"' in lines[0] and "-32700" in lines[1]


def main():
    if sys.argv[1] == "use":
        asyncio.run(use(*sys.argv[2:]))
        return 0
    language, program, passed = sys.argv[1], sys.argv[2:], 0
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"MCP_SDK": str(SDK), "NOTES": f"{folder}/notes"}
        os.environ["NOTES"] = environment["NOTES"]
        clients = {
            "Python": [CLIENTS, __file__, "use", *program],
            "Node": ["node", HERE / "serving.mjs", *program],
        }
        for name, client in clients.items():
            ended = subprocess.run(client, env=environment, capture_output=True, text=True, check=False, timeout=120)
            passed += ended.returncode == 0
            if ended.returncode:
                print(f"FAILED {language}, with the client in {name}\n{ended.stdout}\n{ended.stderr}")
        if ends_with_its_input(program):
            passed += 1
        else:
            print(f"FAILED {language}: its output is not the protocol's alone, or it does not end with its input")
    print(f"{passed} passed, {3 - passed} failed, 0 skipped")
    return passed != 3


if __name__ == "__main__":
    sys.exit(main())
