#!/usr/bin/env python3
"""Run a command beside a Postgres server: with_server.py -- COMMAND ARGS...

The command finds the server at $AGENT_POSTGRES (postgres://postgres@127.0.0.1:PORT/postgres). It is that of the wheel in
requirements.txt, installed under target/postgres the first time, on a free port, with its data in a folder that is removed at the
end. The server is stopped when the command ends, whose exit code this returns. As root, it runs as an unprivileged user: Postgres
refuses root. Needs Python 3.10 and nothing else.

Where a file system may be mounted, the server has a small one at $AGENT_POSTGRES_SMALL, for a tablespace that becomes full. No
other process sees it, and it is gone with the server. $AGENT_POSTGRES_PID is the server's process, the parent of all its others.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import servers  # noqa: E402

WORK = HERE.parent.parent / "target/postgres"
NOBODY = 65534
# The size of the small file system.
SMALL = "24m"


def programs():
    """The folder of the server's programs; installs them if there are none."""
    requirements, venv = HERE / "requirements.txt", WORK / "venv"

    def install():
        print("with_server: installing Postgres into target/postgres (once)", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary", ":all:", "-r", requirements], check=True)

    servers.install_once(venv, requirements.read_text(encoding="utf-8"), install)
    return next(venv.glob("lib/*/site-packages/pgserver/pginstall/bin"))


def is_ready(bin, port):
    """Whether it takes connections: while it starts, it has the port and refuses them."""
    asked = [bin / "pg_isready", "--quiet", "--host=127.0.0.1", f"--port={port}"]
    return subprocess.run(asked, check=False).returncode == 0


def beside_a_mount(folder, user):
    """The beginning of a command that mounts the small file system and is then that user, and its folder; nothing without the
    right to do so."""
    small = folder / "small"
    mount = f'mount -t tmpfs -o size={SMALL},mode=700,uid={NOBODY},gid={NOBODY} none "$0" && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", mount, small]
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    small.mkdir()
    try:
        may = user and subprocess.run([*command, *drop, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        may = False
    return ([*command, *drop], small) if may else ([], None)


def start(folder, user):
    """The server, its port, and the folder of its small file system."""
    bin = programs()
    data = folder / "data"
    initdb = [bin / "initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", f"--pgdata={data}"]
    made = subprocess.run(initdb, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **user)
    if made.returncode:
        sys.exit(f"with_server: initdb failed: {made.stdout.strip()}")
    mounted, small = beside_a_mount(folder, user)

    def launch(ports, log):
        options = ["-c", "listen_addresses=127.0.0.1", "-c", f"port={ports[0]}", "-c", f"unix_socket_directories={folder}"]
        command = [*mounted, bin / "postgres", "-D", data, *options]
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **({} if mounted else user))

    server, [port] = servers.start(folder, 1, launch, lambda ports: is_ready(bin, ports[0]))
    return server, port, small


def main(arguments):
    if arguments[:1] != ["--"] or len(arguments) < 2:
        sys.exit(__doc__)
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        folder = Path(name)
        if user:
            os.chown(folder, NOBODY, NOBODY)
        server, port, small = start(folder, user)
        try:
            environment = {**os.environ, "AGENT_POSTGRES": f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable"}
            environment["AGENT_POSTGRES_PID"] = str(server.pid)
            if small:
                environment["AGENT_POSTGRES_SMALL"] = str(small)
            return subprocess.run(arguments[1:], env=environment, check=False).returncode
        finally:
            server.send_signal(signal.SIGINT)  # without waiting for its clients
            server.wait(timeout=60)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
