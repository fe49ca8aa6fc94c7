"""What reaches a run on Restate while it is active: steering, aborts, cancellations."""

import time

from on_restate import INGRESS, Prompt, ask, end, refused, request, requests_of, summary, until


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


def test_a_message_that_is_sent_twice_is_taken_once(worker):
    message = {"role": "user", "content": "In Oslo.", "id": "m1"}
    for _ in range(2):
        assert ask("weather", "twice", "steer", message) == "queued"
    result = ask("weather", "twice", "prompt", "Rain?")
    assert [said for role, _, said in summary(result["messages"]) if role == "user"] == ["Rain?", "In Oslo."]
    assert ask("weather", "twice", "state")["waiting"] == []
    assert refused("weather", "twice", "prompt", message)[0] == 400


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


def test_a_cancelled_callee_is_a_failed_call(worker):
    running = Prompt("calling", "s", "prompt", "Deliver.")
    end("cancel", {"invocationId": until(lambda: worker.noted("courier"))[0]})
    result = running.answer()
    assert (result["outcome"], result["text"]) == ("completed", "Not delivered.")
    assert [one["is_error"] for one in result["messages"] if one["role"] == "tool_result"] == [True]


def test_a_cancellation_in_a_tool_that_calls_is_an_aborted_run(worker):
    sent = ask("calling", "cancelled", "prompt/send", "Deliver.")
    until(lambda: worker.noted("courier"))
    end("cancel", sent)
    state = until(lambda: (now := ask("calling", "cancelled", "state"))["messages"] and not now["is_running"] and now)
    assert [one["is_error"] for one in state["messages"] if one["role"] == "tool_result"] == [True]


def test_a_run_that_fails_in_restate_gives_its_inputs_back(worker):
    sent = ask("endless", "failed", "prompt/send", "Wait.")
    until(lambda: worker.noted("began") == ["forever"])
    assert ask("endless", "failed", "steer", "In short.") == "joined"
    request(f"{INGRESS}/courier/spoil", sent["invocationId"])
    until(lambda: not ask("endless", "failed", "state")["is_running"])
    # It was read, but it is not in the stored conversation.
    assert ask("endless", "failed", "state")["waiting"] == [{"type": "steer", "message": "In short."}]
    assert ask("endless", "failed", "abort") is False
    assert ask("endless", "failed", "follow_up", "And then?") == "queued"
