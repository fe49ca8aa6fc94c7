"""Restate and its workers, as these tests use them."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tests"))

from mock import asked  # noqa: E402

INGRESS, ADMIN = os.environ["RESTATE_INGRESS"], os.environ["RESTATE_ADMIN"]
LIMIT_SECONDS = 120


class Server:
    """Restate, with workers of one deployment."""

    def __init__(self, folder, mock):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder, self.mock = folder, mock
        self.ledger = folder / "ledger"
        self.ledger.touch()
        self.is_registered = False

    @contextlib.contextmanager
    def worker(self, *kill_at):
        variables = {"MOCK": self.mock, "LEDGER": str(self.ledger), "GATES": str(self.folder)}
        command = [sys.executable, HERE / "worker.py", str(self.port), *map(str, kill_at)]
        environment = {**os.environ, **variables}
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True) as worker:
            try:
                self.wait_for_port()
                if not self.is_registered:
                    request(f"{ADMIN}/deployments", {"uri": f"http://127.0.0.1:{self.port}"})
                    self.is_registered = True
                yield worker
            finally:
                os.killpg(worker.pid, signal.SIGKILL)

    def wait_for_port(self):
        def is_open():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
            return False

        until(is_open)

    def notes(self, **of):
        """What was noted, by one key."""
        lines = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return [line for line in lines if all(line.get(name, value) == value and name in line for name, value in of.items())]

    def noted(self, name):
        return [line[name] for line in self.notes() if name in line]

    def forget(self):
        self.ledger.write_text("")


def request(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"accept": "application/json"} | ({} if body is None else {"content-type": "application/json"})
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method="POST"), timeout=LIMIT_SECONDS) as answer:
        said = answer.read()
        return json.loads(said) if said else None


def query(sql):
    """What Restate's own tools show."""
    return request(f"{ADMIN}/query", {"query": sql})["rows"]


def steps_of(agent, session):
    """The names of the steps and timers in the journals of a session."""
    ids = f"select id from sys_invocation where target_service_name = '{agent}' and target_service_key = '{session}'"
    sql = f"select name from sys_journal where id in ({ids}) and entry_type in ('Command: Run', 'Command: Sleep')"
    return [row["name"] for row in query(f'{sql} order by "index"')]


def ask(agent, session, handler, body=None):
    return request(f"{INGRESS}/{agent}/{session}/{handler}", body)


def refused(agent, session, handler, body=None):
    with pytest.raises(urllib.error.HTTPError) as raised:
        ask(agent, session, handler, body)
    said = json.load(raised.value)
    return raised.value.code, said["message"]


def end(how, sent):
    """Cancels or kills an invocation."""
    ending = urllib.request.Request(f"{ADMIN}/invocations/{sent['invocationId']}/{how}", method="PATCH")
    urllib.request.urlopen(ending, timeout=LIMIT_SECONDS).close()


class Prompt(threading.Thread):
    """A prompt whose answer is awaited later."""

    def __init__(self, *arguments):
        super().__init__(daemon=True)
        self._arguments = arguments
        self._answer = None
        self.start()

    def run(self):
        try:
            self._answer = ask(*self._arguments)
        except Exception as error:
            self._answer = error

    def answer(self):
        self.join(LIMIT_SECONDS)
        assert not self.is_alive(), "the prompt does not end"
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def until(condition):
    deadline = time.monotonic() + LIMIT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "it does not come to that"
        time.sleep(0.01)
    return found


def summary(messages):
    """Role and text of each message; of calls their names, of results what they are the results of."""
    return [
        (one["role"], one.get("tool_call_id") or "", " ".join(b.get("text") or b.get("name", "") for b in one["content"]))
        for one in messages
    ]


def requests_of(server, name):
    return [one for one in asked(server.mock) if one["path"] == f"/{name}/v1/chat/completions"]
