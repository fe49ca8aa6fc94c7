"""What the launchers of servers for tests have in common: programs that are installed once, free ports, and a server that is
ready. `tests/postgres/with_server.py` and `tests/restate/with_server.py` use it."""

import fcntl
import shutil
import socket
import sys
import time

# Ports that another program takes between the check that they are free and the start.
TRIES = 5
START_SECONDS = 60


def install_once(folder, given, install):
    """Calls `install` to make a folder, unless that was made of the same text before."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    stamp = folder / "made-from"
    with open(folder.parent / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second one blocks here and finds everything made
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != given:
            shutil.rmtree(folder, ignore_errors=True)
            install()
            stamp.write_text(given, encoding="utf-8")


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


def start(folder, ports, launch, is_ready):
    """A server that is ready, and its ports, so many. `launch(ports, log)` starts a process that writes to `log` in the folder,
    `is_ready(ports)` says whether it answers."""
    for _ in range(TRIES):
        free = free_ports(ports)
        with open(folder / "log", "w+", encoding="utf-8") as log:
            process = launch(free, log)
            deadline = time.monotonic() + START_SECONDS
            while process.poll() is None and time.monotonic() < deadline:
                if is_ready(free):
                    return process, free
                time.sleep(0.05)
            process.kill()
            process.wait()
            log.seek(0)
            output = log.read().strip()
    sys.exit(f"with_server: the server does not start: {output}")
