"""Calls that wait for a decision on Restate."""

import contextlib
import json
import time
import urllib.error
import urllib.request

import pytest
from on_restate import INGRESS, LIMIT_SECONDS, Prompt, ask, end, query, refused, request, summary, until


def test_an_approval_needs_no_worker(server):
    server.forget()
    with server.worker():
        sent = ask("approval", "s", "prompt/send", "Pay.")
        state = until(lambda: (now := ask("approval", "s", "state"))["pending"] and now)
        assert [(one["tool_call_id"], one["reason"]) for one in state["pending"]] == [("p1", "5 euros")]
        assert refused("approval", "s", "decide", {"p9": "approve"})[0] == 400
        assert refused("approval", "s", "decide", {"p1": "aprove"})[0] == 400
        assert "nothing is decided about p1 (pay)" in refused("approval", "s", "decide")[1]
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


def test_a_call_that_was_approved_and_whose_result_was_lost_does_not_run_again(worker):
    (worker.folder / "large").touch()
    running = Prompt("archiving", "large", "prompt", "Archive it.")
    until(lambda: ask("archiving", "large", "state")["pending"])
    ask("archiving", "large", "decide", {"a1": "approve"})
    with pytest.raises(urllib.error.HTTPError) as raised:
        running.answer()
    assert raised.value.code == 413

    sent = ask("archiving", "killed", "prompt/send", "Archive it.")
    until(lambda: ask("archiving", "killed", "state")["pending"])
    ask("archiving", "killed", "decide", {"a2": "approve"})
    until(lambda: "killed" in worker.noted("began"))
    end("kill", sent)

    for session, call in [("large", "a1"), ("killed", "a2")]:
        state = ask("archiving", session, "state")
        assert ([role for role, _, _ in summary(state["messages"])], state["pending"]) == (["user", "assistant"], [])
        code, why = refused("archiving", session, "decide", {call: "approve"})
        assert (code, why.startswith("no call of this session waits for a decision")) == (409, True)
        result = ask("archiving", session, "resume")
        assert (result["outcome"], result["text"]) == ("completed", "It may be in the archive.")
        (ended,) = [one for one in result["messages"] if one["role"] == "tool_result"]
        assert ended["is_error"] and "is not known" in ended["content"][0]["text"]
    assert worker.noted("began") == ["large", "killed"]


def test_a_cancelled_invocation_denies_calls_that_wait(worker):
    sent = ask("approval", "cancelled", "prompt/send", "Pay.")
    until(lambda: ask("approval", "cancelled", "state")["pending"])
    end("cancel", sent)
    state = until(lambda: (now := ask("approval", "cancelled", "state")) and not now["is_running"] and now)
    assert sorted(one["is_error"] for one in state["messages"] if one["role"] == "tool_result") == [False, True]
    assert "pay 5" not in worker.noted("ran")


def test_an_awakeable_that_does_not_come_from_decide_decides_nothing(worker):
    running = Prompt("approval", "forged", "prompt", "Pay.")
    for action, body in [("reject", "forged"), ("resolve", {"p9": "approve"}), ("resolve", 5)]:
        awakeable = until(lambda: awakeable_of("approval", "forged"))
        request(f"{INGRESS}/restate/awakeables/{awakeable}/{action}", body)
        until(lambda was=awakeable: awakeable_of("approval", "forged") not in (None, was))
    ask("approval", "forged", "decide", {"p1": "approve"})
    assert running.answer()["text"] == "Done."
    assert worker.noted("ran").count("pay 5") == 1


def awakeable_of(agent, session):
    """The awakeable that a run waits for."""
    rows = query(f"select value_utf8 from state where service_name = '{agent}' and service_key = '{session}#inbox'")
    return json.loads(rows[0]["value_utf8"]).get("suspended", {}).get("awakeable") if rows else None
