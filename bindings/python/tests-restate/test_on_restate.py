"""Agents on a real Restate server, with workers that are killed: `python3 tests/restate/with_server.py -- pytest …`."""

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tests"))

from mock import asked, program  # noqa: E402

INGRESS, ADMIN = os.environ["RESTATE_INGRESS"], os.environ["RESTATE_ADMIN"]
LIMIT_SECONDS = 120
# How many sessions two workers serve while one of them is killed each second, and for how long.
SESSIONS, KILLED_SECONDS = 50, 60


def call(name, arguments, id):
    return {"name": name, "arguments": arguments, "id": id}


def on(path, last, message, **more):
    return {"when": {"path": f"/{path}/v1/chat/completions", "last": last}, "body": message, **more}


def calls(*made):
    return {"message": {"tool_calls": list(made)}}


def text(said):
    return {"message": {"text": said}}


# Each with the one after which its call returns: all have to run at a time.
CITIES = {"Oslo": "Bern", "Rome": None, "Bern": "Rome"}
RESULTS = [("tool_result", f"c{i}", f"rain in {city}") for i, city in enumerate(CITIES)]
SCRIPT = [
    on("weather", "user", calls(call("weather", {"city": "Oslo"}, "c1"))),
    on("weather", "tool_result", text("It rains.")),
    on("parallel", "user", calls(*(call("weather", {"city": c, "after": CITIES[c]}, f"c{i}") for i, c in enumerate(CITIES)))),
    on("parallel", "tool_result", text("Rain everywhere.")),
    on("gated", "user", calls(call("gate", {"name": "a"}, "g1")), times=1),
    on("gated", "user", text("Steered.")),
    on("gated", "tool_result", text("Not steered.")),
    # Two letters each half second: an answer that takes a minute.
    on("stalled", "user", {"message": {"text": "slow " * 48, "piece": 2}}, frame_delay_ms=500),
    on("endless", "user", calls(call("forever", {}, "f1"))),
    on("approval", "user", calls(call("pay", {"amount": 5}, "p1"), call("weather", {"city": "Oslo"}, "p2"))),
    on("approval", "tool_result", text("Done.")),
    on("limited", "user", calls(call("pay", {"amount": 5}, "p1"))),
    on("limited", "tool_result", text("Done.")),
    on("retried", "user", {"error": "overloaded"}, times=2),
    on("retried", "user", text("At last.")),
    on("refused", "user", {"error": "authentication"}),
    on("late", "user", text("Too late."), delay_ms=3000),
    on("durable", "user", calls(call("nap", {}, "n1"))),
    on("durable", "tool_result", text("Awake.")),
]


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
    headers = {} if body is None else {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method="POST"), timeout=LIMIT_SECONDS) as answer:
        said = answer.read()
        return json.loads(said) if said else None


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


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("restate")
    script = folder / "script.json"
    script.write_text(json.dumps({"answers": SCRIPT}))
    with subprocess.Popen([program(), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mock:
        try:
            yield Server(folder, mock.stdout.readline().strip())
        finally:
            mock.stdin.close()


@pytest.fixture
def worker(server):
    server.forget()
    with server.worker():
        yield server


def requests_of(server, name):
    return [one for one in asked(server.mock) if one["path"] == f"/{name}/v1/chat/completions"]


def test_a_conversation_with_a_tool(worker):
    first = ask("weather", "oslo", "prompt", "Rain in Oslo?")
    assert (first["outcome"], first["text"], first["turns"]) == ("completed", "It rains.", 2)
    second = ask("weather", "oslo", "prompt", {"role": "user", "content": "And now?"})
    assert len(second["messages"]) == 4
    state = ask("weather", "oslo", "state")
    assert summary(state["messages"]) == [
        ("user", "", "Rain in Oslo?"),
        ("assistant", "", "weather"),
        ("tool_result", "c1", "rain in Oslo"),
        ("assistant", "", "It rains."),
        ("user", "", "And now?"),
        ("assistant", "", "weather"),
        ("tool_result", "c1", "rain in Oslo"),
        ("assistant", "", "It rains."),
    ]
    assert (state["pending"], state["is_running"], state["waiting"]) == ([], False, [])
    assert len(requests_of(worker, "weather")[-1]["body"]["messages"]) == 7


def test_sessions_are_apart(worker):
    ask("weather", "a", "prompt", "Rain?")
    assert ask("weather", "b", "state")["messages"] == []
    assert refused("weather", "a%23inbox", "prompt", "Rain?") == (400, "the key of a session must not end with #inbox")


def test_parallel_tools_run_together_and_have_their_results_in_order(worker):
    result = ask("parallel", "cities", "prompt", "Rain?")
    assert summary(result["messages"])[2:5] == RESULTS
    assert sorted(worker.noted("began")) == ["Bern", "Oslo", "Rome"]
    assert worker.noted("ran") == ["Rome", "Bern", "Oslo"]


def test_steering_joins_the_run_that_is_active(worker):
    running = Prompt("gated", "s", "prompt", "Go.")
    until(lambda: "a" in worker.noted("began"))
    assert ask("gated", "s", "state")["is_running"]
    assert ask("gated", "s", "steer", "Stop that.") == "joined"
    assert ask("gated", "s", "follow_up", {"role": "user", "content": "And then?"}) == "joined"
    (worker.folder / "a").touch()
    result = running.answer()
    assert summary(result["messages"])[2:] == [
        ("tool_result", "g1", "open"),
        ("user", "", "Stop that."),
        ("assistant", "", "Steered."),
        ("user", "", "And then?"),
        ("assistant", "", "Steered."),
    ]


def test_steering_without_a_run_waits_for_the_next(worker):
    assert ask("weather", "later", "steer", "In Oslo.") == "queued"
    assert ask("weather", "later", "state")["waiting"] == [{"type": "steer", "message": "In Oslo."}]
    result = ask("weather", "later", "prompt", "Rain?")
    assert summary(result["messages"])[:2] == [("user", "", "Rain?"), ("user", "", "In Oslo.")]
    code, why = refused("weather", "later", "steer", {"rolle": "user"})
    assert (code, why.partition(":")[0]) == (400, "message")


def test_an_abort_interrupts_a_model_call(worker):
    for seconds in (1, 4, 16):
        running = Prompt("stalled", f"s{seconds}", "prompt", "Say much.")
        until(lambda count=len(requests_of(worker, "stalled")): len(requests_of(worker, "stalled")) > count)
        time.sleep(seconds)  # for the first pieces, if the machine is not too slow
        assert ask("stalled", f"s{seconds}", "abort") is True
        result = running.answer()
        assert result["outcome"] == "aborted"
        if said := summary(result["messages"])[-1][2]:
            break
    assert 0 < len(said) < 5 * 48 and ("slow " * 48).startswith(said)
    assert ask("stalled", f"s{seconds}", "abort") is False


def test_an_abort_cancels_a_tool(worker):
    running = Prompt("endless", "s", "prompt", "Wait.")
    until(lambda: worker.noted("began") == ["forever"])
    assert ask("endless", "s", "abort") is True
    result = running.answer()
    assert result["outcome"] == "aborted"
    assert [one["is_error"] for one in result["messages"] if one["role"] == "tool_result"] == [True]


def test_a_cancelled_invocation_is_an_aborted_run(worker):
    sent = ask("endless", "cancelled", "prompt/send", "Wait.")
    until(lambda: worker.noted("began") == ["forever"])
    end("cancel", sent)
    state = until(lambda: (now := ask("endless", "cancelled", "state"))["messages"] and not now["is_running"] and now)
    assert [one["is_error"] for one in state["messages"] if one["role"] == "tool_result"] == [True]


def test_retries_are_the_loops_and_wait_in_restate(worker):
    result = ask("retried", "s", "prompt", "Please.")
    assert (result["outcome"], result["text"]) == ("completed", "At last.")
    assert len(requests_of(worker, "retried")) == 3
    # One step for each attempt; the pauses between them are timers of the server.
    assert worker.noted("step") == ["model call 0", "model call 1", "model call 2"]


def test_a_failed_call_is_a_result(worker):
    result = ask("refused", "s", "prompt", "Please.")
    assert (result["outcome"], result["error"]["kind"], result["error"]["http_status"]) == ("error", "authentication", 401)
    assert len(requests_of(worker, "refused")) == 1
    again = ask("refused", "s", "resume")
    assert again["error"]["kind"] == "authentication"


def test_a_limit_of_time_ends_a_call(worker):
    result = ask("late", "s", "prompt", "Please.")
    assert (result["error"]["kind"], result["outcome"]) == ("timeout", "error")
    assert "request_timeout_ms (200)" in result["error"]["message"]


def test_a_tool_uses_restate_itself(worker):
    result = ask("durable", "s", "prompt", "Sleep.")
    assert summary(result["messages"])[2] == ("tool_result", "n1", "rested as durable/s/1/1/n1")
    assert worker.noted("ran") == ["nap"]


def test_an_approval_needs_no_worker(server):
    server.forget()
    with server.worker():
        sent = ask("approval", "s", "prompt/send", "Pay.")
        state = until(lambda: (now := ask("approval", "s", "state"))["pending"] and now)
        assert [(one["tool_call_id"], one["reason"]) for one in state["pending"]] == [("p1", "5 euros")]
        assert refused("approval", "s", "decide", {"p9": "approve"})[0] == 400
        assert refused("approval", "s", "decide", {"p1": "aprove"})[0] == 400
    assert "pay 5" not in server.noted("ran")
    with server.worker():
        ask("approval", "s", "decide", {"p1": "approve"})
        attached = f"{INGRESS}/restate/invocation/{sent['invocationId']}/attach"
        with urllib.request.urlopen(attached, timeout=LIMIT_SECONDS) as answer:
            result = json.load(answer)
        assert refused("approval", "s", "decide", {"p1": "approve"})[0] == 400
    assert (result["outcome"], result["text"]) == ("completed", "Done.")
    assert server.noted("ran").count("pay 5") == 1


def test_the_time_of_a_run_is_not_that_of_an_approval(worker):
    running = Prompt("limited", "s", "prompt", "Pay.")
    until(lambda: ask("limited", "s", "state")["pending"])
    # Longer than its run_timeout_ms.
    time.sleep(10.5)
    ask("limited", "s", "decide", {"p1": "approve"})
    assert running.answer()["text"] == "Done."


def test_an_abort_denies_calls_that_wait(worker):
    running = Prompt("approval", "aborted", "prompt", "Pay.")
    until(lambda: ask("approval", "aborted", "state")["pending"])
    assert ask("approval", "aborted", "abort") is True
    result = running.answer()
    assert result["outcome"] == "aborted"
    assert "pay 5" not in worker.noted("ran")
    assert [one["is_error"] for one in result["messages"] if one["role"] == "tool_result"] == [True]


def test_a_run_that_was_killed_in_restate_leaves_its_inputs(worker):
    sent = ask("approval", "killed", "prompt/send", "Pay.")
    until(lambda: ask("approval", "killed", "state")["pending"])
    assert ask("approval", "killed", "steer", "In cash.") == "joined"
    end("kill", sent)
    code, why = refused("approval", "killed", "prompt", "Pay!")
    assert (code, why.endswith("call resume")) == (409, True)
    # Its calls still wait, for the decisions of whoever resumes.
    again = Prompt("approval", "killed", "resume")

    def is_over():
        with contextlib.suppress(urllib.error.HTTPError):
            ask("approval", "killed", "decide", {"p1": {"deny": "no money"}})
        return not again.is_alive()

    until(is_over)
    assert (again.answer()["outcome"], again.answer()["text"]) == ("completed", "Done.")
    said = [text for role, _, text in summary(ask("approval", "killed", "state")["messages"]) if role == "user"]
    assert said == ["Pay.", "In cash."]


def test_a_cancelled_invocation_denies_calls_that_wait(worker):
    sent = ask("approval", "cancelled", "prompt/send", "Pay.")
    until(lambda: ask("approval", "cancelled", "state")["pending"])
    end("cancel", sent)
    state = until(lambda: (now := ask("approval", "cancelled", "state")) and not now["is_running"] and now)
    assert sorted(one["is_error"] for one in state["messages"] if one["role"] == "tool_result") == [False, True]
    assert "pay 5" not in worker.noted("ran")


def test_what_an_aborted_run_did_not_take_waits_for_the_next(worker):
    running = Prompt("endless", "queued", "prompt", "Wait.")
    until(lambda: worker.noted("began") == ["forever"])
    assert ask("endless", "queued", "steer", "In short.") == "joined"
    assert ask("endless", "queued", "abort") is True
    assert running.answer()["outcome"] == "aborted"
    running = Prompt("endless", "queued", "prompt", "Once more.")
    until(lambda: worker.noted("began") == ["forever", "forever"])
    assert ask("endless", "queued", "abort") is True
    assert summary(running.answer()["messages"])[:2] == [("user", "", "Once more."), ("user", "", "In short.")]


def check_ledger(server):
    """No call ran after its result was taken from the journal. Returns how many calls ran more than once."""
    taken, ran = set(), []
    for line in server.notes():
        if "taken" in line:
            taken.add(line["taken"])
        if "ran" in line:
            assert line["key"] not in taken, f"{line} ran after its result was journaled"
            ran.append(line["key"])
    return len(ran) - len(set(ran))


def check_parallel(result, where):
    assert (result["outcome"], result["text"]) == ("completed", "Rain everywhere."), where
    assert [one["role"] for one in result["messages"]] == ["user", "assistant", *["tool_result"] * 3, "assistant"], where
    assert summary(result["messages"])[2:5] == RESULTS, where


def test_a_worker_that_is_killed_at_each_step(server):
    points = 0
    while True:
        points += 1
        server.forget()
        with server.worker(points):
            check_parallel(Prompt("parallel", f"killed-{points}", "prompt", "Rain?").answer(), points)
        check_ledger(server)
        if not server.noted("killed"):
            break
    print(f"\n{points - 1} points")
    assert points > 10


def test_two_workers_of_which_one_is_killed_each_second(server):
    server.forget()
    over = threading.Event()

    def session(number):
        """Prompts until the workers are no longer killed."""
        count = 0
        while not over.is_set():
            count += 1
            check_parallel(ask("parallel", f"many-{number}", "prompt", "Rain?"), number)
        messages = ask("parallel", f"many-{number}", "state")["messages"]
        assert len(messages) == 6 * count
        return count

    with server.worker(), server.worker(), ThreadPoolExecutor(SESSIONS) as pool:
        running = [pool.submit(session, number) for number in range(SESSIONS)]
        for _ in range(KILLED_SECONDS):
            time.sleep(1)
            os.kill(server.noted("worker")[-2], signal.SIGKILL)
        over.set()
        counts = [one.result() for one in running]
    again = check_ledger(server)
    print(f"\nplayed {sum(counts)} prompts of {SESSIONS} sessions over {KILLED_SECONDS} killed workers; {again} calls ran again")
