"""The programs of docs/web-approvals.md, as they stand there, in server processes that are killed while calls wait.

Only the model is another one, and the tool writes into a file what it has paid, and with which idempotency key.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from agent_loop import Agent

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import snippets  # noqa: E402

PROGRAMS = {
    feature.title: feature.snippets["python"]
    for feature in snippets.read(ROOT / "docs/web-approvals.md")
    if "python" in feature.snippets
}
STORE, BROWSER, DATABASE = (f"In {what}, with FastAPI" for what in ("a store", "the browser", "a database"))
KEY = "0123456789abcdef0123456789abcdef"
# Pays Ann, then Bob, and says what came of it.
MODEL = '''
async def provider(request):
    results = [message.text for message in request.messages if message.role == "tool_result"]
    if len(results) < 2:
        to = ["Ann", "Bob"][len(results)]
        yield {"tool_call": {"id": f"call_{to}", "name": "pay", "arguments": {"to": to, "amount": 50}}}
    else:
        yield "; ".join(results)


'''
PAID = 'return f"paid {amount} to {to}"'
WRITES = '''with open("paid", "a") as paid:
        paid.write(f"{to} {context.idempotency_key}\\n")
    if amount == 13:
        await context.sleep(600_000)  # until the process is killed
    return f"paid {amount} to {to}"'''


class Service:
    """A server process in a folder of its own, which may be killed and started again."""

    def __init__(self, title, folder):
        text = PROGRAMS[title]
        for old, new in [('"anthropic/claude-sonnet-4-5"', '"own/model", provider=provider'), (PAID, WRITES)]:
            assert old in text
            text = text.replace(old, new)
        (folder / "app.py").write_text(MODEL + text)
        self.folder, self.process, self.address = folder, None, ""
        self.start()

    def start(self):
        command = [sys.executable, "-m", "uvicorn", "app:app", "--port", "0", "--no-access-log"]
        environment = os.environ | {"APPROVALS_KEY": KEY}
        pipes = {"stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, cwd=self.folder, env=environment, **pipes)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := re.search(r"running on (http://\S+)", line):
                self.address = found[1]
                return
        pytest.fail(f"the server ended before it listened:\n{''.join(lines)}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def restart(self):
        self.kill()
        self.start()

    def post(self, path, body):
        return httpx.post(f"{self.address}{path}", json=body, timeout=60)

    def decide(self, waiting, decisions):
        """Decides about what an answer said that it waits."""
        if "id" in waiting:
            return self.post(f"/decide/{waiting['id']}", decisions)
        return self.post("/decide", {"state": waiting["state"], "decisions": decisions})

    def paid(self):
        path = self.folder / "paid"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture(params=[STORE, BROWSER, DATABASE])
def service(request, tmp_path):
    started = Service(request.param, tmp_path)
    yield started
    started.kill()


def waiting(response):
    """What an answer says that waits; of the calls, those who are paid."""
    assert response.status_code == 200, response.text
    body = response.json()
    return body, [call["arguments"]["to"] for call in body["pending"]]


def refused(response):
    return response.status_code, response.json()["detail"]


def test_each_program_is_tested():
    assert set(PROGRAMS) == {STORE, BROWSER, DATABASE}


def test_a_decision_comes_after_a_restart(service):
    first, whom = waiting(service.post("/chat", {"text": "Pay Ann and Bob."}))
    assert whom == ["Ann"]
    service.restart()
    second, whom = waiting(service.decide(first, {"call_Ann": "approve"}))
    assert whom == ["Bob"]
    service.restart()
    # The same key as before the call waited, and another one for another call.
    assert service.paid() == [["Ann", first["pending"][0]["idempotency_key"]]]
    assert first["pending"][0]["idempotency_key"] != second["pending"][0]["idempotency_key"]
    last = service.decide(second, {"call_Bob": {"deny": "too dear"}})
    assert (last.status_code, last.json()) == (200, {"text": "paid 50 to Ann; too dear"})


@pytest.mark.parametrize("service", [STORE], indirect=True)
def test_a_decision_counts_once_in_a_store(service):
    first, _ = waiting(service.post("/chat", {"text": "Pay Ann and Bob."}))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.decide(first, {"call_Ann": "approve"}), range(8)))
    # While it is open, 409; after that, Ann does not wait any more.
    assert [answer.status_code for answer in answers].count(200) == 1
    assert {answer.status_code for answer in answers} <= {200, 400, 409}
    service.restart()
    status, detail = refused(service.decide(first, {"call_Ann": "approve"}))
    assert (status, "call_Ann" in detail) == (400, True)
    assert [to for to, _ in service.paid()] == ["Ann"]


@pytest.mark.parametrize("service", [STORE], indirect=True)
def test_a_run_that_was_cut_off_goes_on_in_a_store(service):
    first, _ = waiting(service.post("/chat", {"text": "Pay Ann and Bob."}))
    decisions = {"call_Ann": {"arguments": {"to": "Ann", "amount": 13}}}
    cut_off(service, first, decisions)
    second, whom = waiting(service.decide(first, decisions))
    assert (whom, [to for to, _ in service.paid()]) == (["Bob"], ["Ann"])
    last = service.decide(second, {"call_Bob": "approve"}).json()["text"]
    assert "not known" in last and last.endswith("; paid 50 to Bob")


@pytest.mark.parametrize("service", [BROWSER, DATABASE], indirect=True)
def test_a_decision_counts_once(service):
    first, _ = waiting(service.post("/chat", {"text": "Pay Ann and Bob."}))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.decide(first, {"call_Ann": "approve"}), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    service.restart()
    assert refused(service.decide(first, {"call_Ann": "approve"})) == (409, "this was decided already")
    if "state" in first:
        spaced = first | {"state": json.dumps(json.loads(first["state"]), indent=2, sort_keys=True)}
        assert refused(service.decide(spaced, {"call_Ann": "approve"})) == (409, "this was decided already")
    assert [to for to, _ in service.paid()] == ["Ann"]


def test_decisions_that_do_not_fit_leave_the_call_waiting(service):
    first, _ = waiting(service.post("/chat", {"text": "Pay Ann and Bob."}))
    fits = "decisions: call_Ann: the arguments do not fit the schema of pay:"
    for decisions, text in [
        ({"call_Eve": "approve"}, "decisions: no call call_Eve waits for a decision; those that wait are call_Ann (pay)"),
        ({}, "decisions: nothing is decided about call_Ann (pay)"),
        ({"call_Ann": "perhaps"}, 'decisions: call_Ann: expected "approve"'),
        ({"call_Ann": {"arguments": {"to": "Eve", "amount": "all"}}}, fits),
    ]:
        status, detail = refused(service.decide(first, decisions))
        assert (status, detail[: len(text)]) == (400, text)
        service.restart()
    assert service.paid() == []
    _, whom = waiting(service.decide(first, {"call_Ann": {"arguments": {"to": "Ann", "amount": 40}}}))
    assert whom == ["Bob"]


def cut_off(service, first, decisions):
    """Kills the process while a decided call runs, and starts it again."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        cut = pool.submit(service.decide, first, decisions)
        until = time.monotonic() + 60  # far longer than it takes, so that a failure ends
        while not service.paid() and time.monotonic() < until:
            time.sleep(0.01)
        service.restart()
        assert isinstance(cut.exception(), httpx.HTTPError)


@pytest.mark.parametrize("service", [BROWSER, DATABASE], indirect=True)
def test_a_call_that_ran_when_the_process_ended_is_not_run_again(service):
    first, _ = waiting(service.post("/chat", {"text": "Pay Ann and Bob."}))
    decisions = {"call_Ann": {"arguments": {"to": "Ann", "amount": 13}}}
    cut_off(service, first, decisions)
    assert refused(service.decide(first, decisions)) == (409, "this was decided already")
    assert [to for to, _ in service.paid()] == ["Ann"]


@pytest.mark.parametrize("service", [BROWSER], indirect=True)
def test_a_forged_state_is_refused(service):
    first, _ = waiting(service.post("/chat", {"text": "Pay Ann and Bob."}))
    service.restart()
    state = first["state"]
    unsigned = {name: value for name, value in json.loads(state).items() if name != "signature"}
    foreign = Agent.from_export(state, {"provider": "scripted", "id": "none", "script": []}, key=KEY)
    changed = "the export cannot be read: it was changed, or signed with another key"
    for forged, text in [
        (state.replace('"amount":50', '"amount":500'), changed),
        (foreign.export("another key of thirty-two bytes."), changed),
        (json.dumps(unsigned), "the export cannot be read: it is not signed, and a key is given"),
        ("{}", "the export cannot be read: it is not signed, and a key is given"),
        ("no state", "the export cannot be read: it is not JSON"),
    ]:
        status, detail = refused(service.decide({"state": forged}, {"call_Ann": "approve"}))
        assert (status, detail[: len(text)]) == (400, text)
    assert service.paid() == []
    waiting(service.decide(first, {"call_Ann": "approve"}))


@pytest.mark.parametrize("service", [STORE, DATABASE], indirect=True)
def test_an_unknown_id_is_not_found(service):
    for id in ["00000000-0000-0000-0000-000000000000", "..%2Fapprovals", "x' OR 1=1 --"]:
        assert refused(service.decide({"id": id}, {"call_Ann": "approve"}))[0] == 404


def test_without_a_key_nothing_is_signed_by_chance(tmp_path):
    (tmp_path / "app.py").write_text(PROGRAMS[BROWSER])
    environment = {name: value for name, value in os.environ.items() if name != "APPROVALS_KEY"}
    command = [sys.executable, "app.py"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0 and "KeyError: 'APPROVALS_KEY'" in ended.stderr
