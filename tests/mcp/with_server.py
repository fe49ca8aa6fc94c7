#!/usr/bin/env python3
"""Run a command beside servers of MCP: with_server.py -- COMMAND ARGS...

The command finds the everything-server at $MCP_EVERYTHING_URL (streamable HTTP), its program at $MCP_EVERYTHING (for node, over
standard input and output), and the program of a server from PyPI, mcp-server-time, at $MCP_TIME. They are those of package.json
and requirements.txt, installed from npm and PyPI under target/mcp the first time. The server is ended when the command has ended,
whose exit code this returns; after a failure, the server's log is printed. Where the packages cannot be installed, this says so
and counts a skipped test. Needs Python 3.10 and npm.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import servers  # noqa: E402

WORK = HERE.parent.parent / "target/mcp"


def installed():
    """The folder of the packages; installs them if there is none."""
    folder = WORK / "npm"

    def install():
        print("with_server: installing MCP's servers into target/mcp (once)", file=sys.stderr, flush=True)
        folder.mkdir(parents=True)
        for name in ["package.json", "package-lock.json"]:
            shutil.copy(HERE / name, folder / name)
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True)

    servers.install_once(folder, (HERE / "package-lock.json").read_text(encoding="utf-8"), install)
    return folder / "node_modules/@modelcontextprotocol"


def installed_from_pypi():
    """The folder of the programs of the packages; installs them if there is none."""
    folder, requirements = WORK / "python", HERE / "requirements.txt"

    def install():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", "-r", requirements], check=True)

    servers.install_once(folder, requirements.read_text(encoding="utf-8"), install)
    return folder / "bin"


def is_open(ports):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", ports[0])) == 0


def main():
    if sys.argv[1:2] != ["--"] or len(sys.argv) < 3:
        sys.exit(__doc__)
    if not shutil.which("npm"):
        print("skipped: there is no npm for MCP's servers\n0 passed, 0 failed, 1 skipped")
        return 0
    try:
        packages, programs = installed(), installed_from_pypi()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: MCP's servers cannot be installed: {error}\n0 passed, 0 failed, 1 skipped")
        return 0
    program = packages / "server-everything/dist/index.js"

    def launch(ports, log):
        environment = os.environ | {"PORT": str(ports[0])}
        return subprocess.Popen(["node", program, "streamableHttp"], env=environment, stdout=log, stderr=log)

    with tempfile.TemporaryDirectory() as folder:
        server, ports = servers.start(Path(folder), 1, launch, is_open)
        environment = os.environ | {
            "MCP_EVERYTHING": str(program),
            "MCP_EVERYTHING_URL": f"http://127.0.0.1:{ports[0]}/mcp",
            "MCP_TIME": str(programs / "mcp-server-time"),
        }
        try:
            code = subprocess.run(sys.argv[2:], env=environment, check=False).returncode
        finally:
            server.kill()
            server.wait()
        if code:
            print((Path(folder) / "log").read_text(encoding="utf-8")[-3000:], file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
