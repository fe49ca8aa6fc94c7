#!/usr/bin/env python3
"""Run a command beside a Restate server: with_server.py -- COMMAND ARGS...

The command finds the server at $RESTATE_INGRESS (where handlers are called) and $RESTATE_ADMIN (where workers are registered);
$RESTATE_PID is its process. It is that of package.json, installed from npm under target/restate the first time, on free ports
of 127.0.0.1, with its data in a folder that is removed at the end. The server is ended when the command has ended, whose exit
code this returns; after a failure, the server's log is printed. Where the server cannot be installed, this says so and counts a
skipped test. Needs Python 3.10 and npm.
"""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = HERE.parent.parent / "target/restate"
# Ports that another program takes between the check that they are free and the start.
TRIES = 5
START_SECONDS = 60
# What is printed of the log after a failure.
LAST_LINES = 60


class Unavailable(Exception):
    """The server cannot be installed on this machine."""


def program():
    """The server's program; installs it if there is none."""
    WORK.mkdir(parents=True, exist_ok=True)
    given = (HERE / "package-lock.json").read_text(encoding="utf-8")
    folder, stamp = WORK / "npm", WORK / "npm/made-from"
    with open(WORK / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second one blocks here and finds everything made
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != given:
            print("with_server: installing the Restate server into target/restate (once)", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, folder / name)
            install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            try:
                subprocess.run(install, cwd=folder, check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                raise Unavailable(error) from error
            stamp.write_text(given, encoding="utf-8")
    found = next(folder.glob("node_modules/@restatedev/restate-server-*/bin/restate-server"), None)
    if found is None:
        raise Unavailable("npm has no Restate server for this system")
    return found


def free_ports(count):
    """Ports that differ: all are held until the last one is found."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def is_ready(url):
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except (urllib.error.URLError, OSError):
        return False


def start(server, folder):
    """The server, and the addresses of its ingress and of its admin API."""
    for _ in range(TRIES):
        node, ingress, admin = free_ports(3)
        log = open(folder / "log", "w+", encoding="utf-8")
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
        process = subprocess.Popen([server, "--no-logo"], cwd=folder, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + START_SECONDS
        urls = [f"http://127.0.0.1:{ingress}", f"http://127.0.0.1:{admin}"]
        while process.poll() is None and time.monotonic() < deadline:
            if is_ready(f"{urls[0]}/restate/health") and is_ready(f"{urls[1]}/health"):
                return process, *urls
            time.sleep(0.1)
        process.kill()
        process.wait()
        log.seek(0)
        output = log.read().strip()
    sys.exit(f"with_server: the server does not start: {output}")


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
