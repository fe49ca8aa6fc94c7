"""Runs on Restate: tools, failures, retries, limits."""

import urllib.error

import pytest
from on_restate import Prompt, ask, query, refused, requests_of, steps_of, summary, until
from script import RESULTS


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


def test_retries_are_the_loops_and_wait_in_restate(worker):
    result = ask("retried", "s", "prompt", "Please.")
    assert (result["outcome"], result["text"]) == ("completed", "At last.")
    assert len(requests_of(worker, "retried")) == 3
    assert steps_of("retried", "s") == ["model call 0", "timer", "model call 1", "timer", "model call 2"]


def test_a_failed_call_is_a_result(worker):
    result = ask("refused", "s", "prompt", "Please.")
    assert (result["outcome"], result["error"]["kind"], result["error"]["http_status"]) == ("error", "authentication", 401)
    assert len(requests_of(worker, "refused")) == 1
    again = ask("refused", "s", "resume")
    assert again["error"]["kind"] == "authentication"


def test_a_tool_that_raises_is_called_once(worker):
    result = ask("failing", "s", "prompt", "Please.")
    assert (result["outcome"], result["text"]) == ("completed", "It failed.")
    failed, unknown = [said for role, _, said in summary(result["messages"]) if role == "tool_result"]
    assert "no disk" in failed and 'there is no tool named "missing"' in unknown
    assert worker.noted("ran") == ["fail"]
    assert steps_of("failing", "s") == ["model call 0", "fail f1", "model call 1"]


def test_a_limit_of_time_ends_a_call(worker):
    result = ask("late", "s", "prompt", "Please.")
    assert (result["error"]["kind"], result["outcome"]) == ("timeout", "error")
    assert "request_timeout_ms (200)" in result["error"]["message"]


def test_a_tool_uses_restate_itself(worker):
    result = ask("durable", "s", "prompt", "Sleep.")
    assert summary(result["messages"])[2] == ("tool_result", "n1", "rested as durable/s/1/1/n1")
    assert worker.noted("ran") == ["nap"]


def stored_bytes(agent, session):
    sql = f"select value from state where service_name = '{agent}' and service_key = '{session}' and key = 'conversation'"
    return len(bytes.fromhex(query(sql)[0]["value"]))


def test_a_message_that_there_is_no_room_for_is_refused(worker):
    ask("bounded", "full", "prompt", "Hello.")
    requests, stored = len(requests_of(worker, "bounded")), stored_bytes("bounded", "full")
    advice = "and max_conversation_bytes is 3000: send a shorter one, or begin a new session, with a summary of this one"
    for handler in ("prompt", "steer", "follow_up"):
        why = f"the conversation would have {stored + 3_002} bytes with this message, {advice}"
        assert refused("bounded", "full", handler, "x" * 3_000) == (413, why)
    # The model was not asked.
    assert len(requests_of(worker, "bounded")) == requests
    # Two hundred bytes are left, with the quotes.
    assert ask("bounded", "full", "steer", "x" * (2_798 - stored)) == "queued"
    why = f"the conversation would have 3001 bytes with what waits and this message, {advice}"
    assert refused("bounded", "full", "follow_up", "x" * 199) == (413, why)
    assert ask("bounded", "full", "follow_up", "x" * 198) == "queued"
    assert len(ask("bounded", "full", "state")["waiting"]) == 2


def test_a_conversation_that_gets_too_large_stays_as_it_was(worker):
    ask("bounded", "s", "prompt", "Hello.")
    # There is room for it, and none for an answer.
    assert ask("bounded", "s", "steer", "x" * (2_998 - stored_bytes("bounded", "s"))) == "queued"
    code, why = refused("bounded", "s", "prompt", "Hello.")
    assert (code, why.startswith("the conversation would have ")) == (413, True)
    assert "it stays as it was before this run, whose prompt, steering and follow-ups are dropped" in why
    state = ask("bounded", "s", "state")
    assert (len(state["messages"]), state["is_running"], state["waiting"]) == (2, False, [])
    assert ask("bounded", "s", "prompt", "Hello.")["text"] == "Yes."


def test_what_joined_a_run_goes_with_its_conversation_if_that_gets_too_large(worker):
    running = Prompt("swelling", "s", "prompt", "Go.")
    until(lambda: worker.noted("began") == ["swell"])
    assert ask("swelling", "s", "steer", "In full.") == "joined"
    (worker.folder / "swell").touch()
    with pytest.raises(urllib.error.HTTPError, match="413"):
        running.answer()
    state = ask("swelling", "s", "state")
    assert (state["messages"], state["is_running"], state["waiting"]) == ([], False, [])
    assert summary(ask("swelling", "s", "prompt", "Again.")["messages"]) == [("user", "", "Again."), ("assistant", "", "Little.")]


def test_a_call_without_a_message_is_refused(worker):
    ask("weather", "empty", "prompt", "Rain?")
    for handler in ("prompt", "steer", "follow_up"):
        why = "message: expected text, a message or a list of messages, got null"
        assert refused("weather", "empty", handler) == (400, why)
