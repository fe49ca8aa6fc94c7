#!/usr/bin/env python3
"""Run a command beside a Restate server: with_server.py -- COMMAND ARGS...

The command finds the server at $RESTATE_INGRESS (where handlers are called) and $RESTATE_ADMIN (where workers are registered);
$RESTATE_PID is its process. It is that of package.json, installed from npm under target/restate the first time, on free ports
of 127.0.0.1, with its data in a folder that is removed at the end. The server is ended when the command has ended, whose exit
code this returns; after a failure, the server's log is printed. Where the server cannot be installed, this says so and counts a
skipped test. Needs Python 3.10 and npm.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import servers  # noqa: E402

WORK = HERE.parent.parent / "target/restate"
# What is printed of the log after a failure.
LAST_LINES = 60


class Unavailable(Exception):
    """The server cannot be installed on this machine."""


def program():
    """The server's program; installs it if there is none."""
    folder = WORK / "npm"

    def install():
        print("with_server: installing the Restate server into target/restate (once)", file=sys.stderr, flush=True)
        folder.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder / name)
        npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            subprocess.run(npm, cwd=folder, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Unavailable(error) from error

    servers.install_once(folder, (HERE / "package-lock.json").read_text(encoding="utf-8"), install)
    found = next(folder.glob("node_modules/@restatedev/restate-server-*/bin/restate-server"), None)
    if found is None:
        raise Unavailable("npm has no Restate server for this system")
    return found


def is_ready(url):
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except (urllib.error.URLError, OSError):
        return False


def start(server, folder):
    """The server, and the addresses of its ingress and of its admin API."""

    def launch(ports, log):
        node, ingress, admin = ports
        settings = {
            "RESTATE_BASE_DIR": str(folder / f"data-{node}"),
            "RESTATE_NODE_NAME": "test",
            "RESTATE_LISTEN_MODE": "tcp",
            "RESTATE_BIND_IP": "127.0.0.1",
            "RESTATE_BIND_PORT": str(node),
            "RESTATE_ADVERTISED_HOST": "127.0.0.1",
            "RESTATE_INGRESS__BIND_PORT": str(ingress),
            "RESTATE_ADMIN__BIND_PORT": str(admin),
            "RESTATE_DISABLE_TELEMETRY": "true",
            "RESTATE_DEFAULT_NUM_PARTITIONS": "4",
            "RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE": "128 MB",
            "RESTATE_LOG_FILTER": "warn",
            "RESTATE_LOG_DISABLE_ANSI_CODES": "true",
            # A worker that was killed is tried again soon.
            "RESTATE_DEFAULT_RETRY_POLICY__INITIAL_INTERVAL": "50ms",
            "RESTATE_DEFAULT_RETRY_POLICY__MAX_INTERVAL": "500ms",
        }
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RESTATE_")} | settings
        return subprocess.Popen([server, "--no-logo"], cwd=folder, stdout=log, stderr=log, env=environment)

    def are_ready(ports):
        _, ingress, admin = map(address, ports)
        return is_ready(f"{ingress}/restate/health") and is_ready(f"{admin}/health")

    process, [_, ingress, admin] = servers.start(folder, 3, launch, are_ready)
    return process, address(ingress), address(admin)


def address(port):
    return f"http://127.0.0.1:{port}"


def main(arguments):
    if arguments[:1] != ["--"] or len(arguments) < 2:
        sys.exit(__doc__)
    try:
        server = program()
    except Unavailable as why:
        print(f"with_server: no test is run, as the Restate server cannot be installed: {why}\n0 passed, 0 failed, 1 skipped")
        return 0
    # A runner that ends this also ends the server.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="restate-") as name:
        process, ingress, admin = start(server, Path(name))
        try:
            environment = {**os.environ, "RESTATE_INGRESS": ingress, "RESTATE_ADMIN": admin, "RESTATE_PID": str(process.pid)}
            code = subprocess.run(arguments[1:], env=environment, check=False).returncode
            if code:
                lines = (Path(name) / "log").read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
                print("with_server: the server's log ends with:", *lines, sep="\n", file=sys.stderr)
            return code
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
