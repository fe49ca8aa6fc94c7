#!/usr/bin/env python3
"""Run a command beside a real model server.

    with_server.py -- COMMAND ARGS...

The command finds the server at $AGENT_LLAMA_URL (http://127.0.0.1:PORT, without /v1). The server is llama.cpp's, with the model
of make_model.py; both are made under target/llama the first time. It is stopped when the command ends, whose exit code this
returns. Needs Python 3.10 and nothing else.

Where llama.cpp's wheel cannot be installed, agent-mock plays the streams in recorded/ instead, and this says so.

    AGENT_LLAMA=recorded   play the recorded streams in any case
    AGENT_LLAMA=real       fail rather than play recorded streams
    AGENT_MOCK=PATH        an agent-mock that is built already

The command sees in AGENT_LLAMA which of the two, `real` or `recorded`, it got.
"""
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "llama"
START_SECONDS = 120


class Unavailable(Exception):
    """The real server cannot be had on this machine."""


def say(text):
    print(f"with_server: {text}", file=sys.stderr, flush=True)


def fail(text, code=1):
    say(text)
    raise SystemExit(code)


def key_of(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, Path) else part.encode())
    return digest.hexdigest()


def run_quietly(what, command):
    """Shows the command's output only if it fails."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )
    if done.returncode != 0:
        print(done.stdout.rstrip(), file=sys.stderr)
        raise Unavailable(f"{what} (exit code {done.returncode}; its output is above)")


def prepare_python():
    """The virtual environment's Python, made anew when the requirements or the Python it stands on change."""
    venv = WORK / "venv"
    python = venv / "bin" / "python"
    stamp = venv / "made-from"
    requirements = HERE / "requirements.txt"
    key = key_of(requirements, sys.version, sys.base_prefix)
    if stamp.exists() and stamp.read_text() == key:
        return python
    say(f"installing llama.cpp's server into {venv.relative_to(ROOT)} (once)")
    shutil.rmtree(venv, ignore_errors=True)
    run_quietly("no virtual environment could be made", [sys.executable, "-m", "venv", str(venv)])
    # Wheels only: a source package of llama.cpp would compile for half an hour.
    run_quietly(
        "pip found no wheels for this machine, or could not install them",
        [
            str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r",
            str(requirements),
        ],
    )
    run_quietly("the installed wheels do not run here", [str(python), "-c", "import gguf, xllamacpp"])
    stamp.write_text(key)
    return python


def prepare_model(python):
    key = key_of(HERE / "make_model.py", HERE / "requirements.txt")
    model = WORK / f"tiny-{key[:12]}.gguf"
    if not model.exists():
        for old in WORK.glob("tiny-*.gguf"):
            old.unlink()
        unfinished = model.with_suffix(".part")
        if subprocess.run([python, HERE / "make_model.py", unfinished], stdin=subprocess.DEVNULL).returncode != 0:
            fail("make_model.py failed; see above")
        unfinished.rename(model)
    return model


def real_server():
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second launcher blocks here and finds everything made
        python = prepare_python()
        model = prepare_model(python)
    return [python, HERE / "serve.py", model]


def mock_server():
    mock = os.environ.get("AGENT_MOCK") or build_mock()
    return [mock, HERE / "recorded" / "scenario.json"]


def build_mock():
    # With the library: the same features of what both are built from, so that `make mock` built it already.
    packages = ["-p", "agent-mock", "-p", "agent-loop"]
    command = ["cargo", "build", "--quiet", "--profile", "ci", *packages, "--message-format", "json-render-diagnostics"]
    try:
        built = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    except FileNotFoundError:
        fail("cargo is not on the PATH; install Rust, or name a built agent-mock in AGENT_MOCK")
    if built.returncode != 0:
        fail("agent-mock did not build; see above")
    messages = (json.loads(line) for line in built.stdout.splitlines())
    return next(message["executable"] for message in messages if message.get("executable"))


def choose_server():
    """Which server, `real` or `recorded`, and its command line."""
    wanted = os.environ.get("AGENT_LLAMA", "")
    if wanted not in ("", "real", "recorded"):
        fail(f"AGENT_LLAMA={wanted}: use `real` or `recorded`, or leave it unset", 2)
    if wanted == "recorded":
        say("playing the streams recorded from llama.cpp, as AGENT_LLAMA=recorded asks; this is not the real server")
        return "recorded", mock_server()
    try:
        return "real", real_server()
    except Unavailable as why:
        if wanted == "real":
            fail(f"AGENT_LLAMA=real, but there is no real server: {why}")
        say(f"playing the streams recorded from llama.cpp, not the real server: {why}")
        return "recorded", mock_server()


class Server:
    """A server that runs for the length of a `with`. It ends when its standard input closes, so also if we are killed."""

    def __init__(self, command):
        self.command = [str(part) for part in command]
        self.log = tempfile.TemporaryFile()  # has no name, so nothing is left of it
        self.url = ""

    def read_log(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace").rstrip()

    def __enter__(self):
        try:
            # A separate session: Ctrl-C is for the command, which may want to talk to the server while it ends.
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True
            )
        except OSError as problem:
            fail(f"{self.command[0]}: {problem.strerror}")
        try:
            readable, _, _ = select.select([self.process.stdout], [], [], START_SECONDS)
            self.url = self.process.stdout.readline().strip() if readable else ""
            if not self.url:
                ended = f"ended immediately (exit code {self.process.wait()})" if readable else None
                state = ended or f"did not start in {START_SECONDS} s"
                fail(f"the server {state}: {' '.join(self.command)}\n{self.read_log()}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is not None and self.url:
            say(f"the server ended before the command did (exit code {self.process.returncode})\n{self.read_log()}")
        self.process.stdin.close()
        for insist in (self.process.terminate, self.process.kill):
            try:
                self.process.wait(timeout=5)
                break
            except subprocess.TimeoutExpired:
                insist()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


def run(command, environment):
    """Runs the command in the foreground and returns its exit code, as a shell would."""
    process = None
    early = []  # signals that came while the command was being started

    def pass_on(number, _frame):
        if process:
            process.send_signal(number)
        else:
            early.append(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    # The terminal sends Ctrl-C to the command too; it decides what that means, and we stay for its end.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as problem:
        say(f"{command[0]}: {problem.strerror}")
        return 127
    for number in early:
        process.send_signal(number)
    code = process.wait()
    return code if code >= 0 else 128 - code


def main(arguments):
    if len(arguments) < 2 or arguments[0] != "--":
        fail("usage: with_server.py -- COMMAND ARGS...", 2)
    # Until the command runs, a signal unwinds through the `with`, so that a server that has started is stopped.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    kind, server_command = choose_server()
    with Server(server_command) as server:
        return run(arguments[1:], os.environ | {"AGENT_LLAMA_URL": server.url, "AGENT_LLAMA": kind})


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
