"""Calls that wait for a decision, as Python's tools and agents have them; the rules are in the scenarios."""

import copy
import json
import pickle

import agent_loop
import pytest
from agent_loop import (
    Agent,
    BusyError,
    InvalidArgumentError,
    InvalidStateError,
    NewerVersionError,
    SuspendedCall,
    Suspension,
    Tool,
    ToolContext,
    tool,
)
from scripts import agent, calls, results, says, scripted

KEY = "a key of thirty-two random bytes"


@tool(needs_approval=lambda arguments: f"{arguments['n']} is a lot" if arguments["n"] > 10 else False)
async def pay(n: int):
    """Pays."""
    return f"paid {n}"


async def test_a_function_of_the_arguments_decides_who_is_asked():
    subject = agent(calls("pay", {"n": 5}, {"n": 50}), says("Done."), tools=[pay])
    result = await subject.prompt("Pay.")
    assert (result.outcome, results(result)) == ("suspended", ["paid 5"])
    (call,) = result.pending
    assert (call.tool_call_id, call.tool_name, call.arguments, call.reason) == ("call_1", "pay", {"n": 50}, "50 is a lot")
    assert subject.pending == result.pending
    with pytest.raises(InvalidStateError, match="the agent is suspended: a call waits for a decision: call_1 \\(pay\\)"):
        await subject.prompt("More.")
    result = await subject.resume({call.tool_call_id: "approve"})
    assert (result.text, results(result), subject.pending) == ("Done.", ["paid 50"], ())


async def test_what_is_decided_for_always_is_remembered_until_it_is_forgotten():
    ran, asked = [], []

    @tool(subject={"argument": "command", "kind": "command"})
    async def run(command: str):
        """Runs a command."""
        ran.append(command)

    def on_approval(call: agent_loop.ApprovalRequest):
        asked.append((call.rule, call.reason, call.arguments, call.tool_name))
        return "approve_always" if call.rule == "run(git push)" else None

    twice = [calls("run", {"command": "git push"}, {"command": "ls; rm a"}), says("Done.")]
    subject = agent(*twice, *twice, tools=[run], gate={"ask": ["run"], "deny": ["run(mv *)"]}, on_approval=on_approval)
    result = await subject.prompt("Go.")
    assert asked[0] == ("run(git push)", "the rule run asks for approval", {"command": "git push"}, "run")
    assert (result.outcome, [call.rule for call in result.pending], ran) == ("suspended", ["run(ls; rm a)"], ["git push"])
    assert copy.copy(result.pending[0]) == result.pending[0] == pickle.loads(pickle.dumps(result.pending[0]))
    await subject.resume({call.tool_call_id: {"deny_always": "not this"} for call in result.pending})
    assert subject.remembered == {"allow": ["run(git push)"], "deny": ["run(ls; rm a)"]}

    result = await subject.prompt("Again.")
    assert (result.outcome, len(asked), ran) == ("completed", 2, ["git push", "git push"])
    with pytest.raises(InvalidArgumentError, match='the rule "run\\(" does not end with its parenthesis'):
        subject.forget("run(")
    subject.forget("run(git push)")
    assert subject.remembered == {"allow": [], "deny": ["run(ls; rm a)"]}
    subject.forget()
    assert subject.remembered == {"allow": [], "deny": []}


def test_a_rule_and_a_subject_that_cannot_be_read_are_refused():
    with pytest.raises(InvalidArgumentError, match='option "gate": deny: the rule "run\\(git" does not end with its parenthesis'):
        agent(gate={"deny": ["run(git"]})
    with pytest.raises(InvalidArgumentError, match='option "gate": unknown field "alow"; did you mean "allow"'):
        agent(gate={"alow": []})

    async def run(comand: str):
        """Runs a command."""

    with pytest.raises(InvalidArgumentError, match='tool "run": subject: unknown argument "command"; did you mean "comand"'):
        tool(subject={"argument": "command"})(run)
    with pytest.raises(InvalidArgumentError, match='tool "run": subject: kind: expected "text", "path", "command" or "url"'):
        tool(subject={"argument": "comand", "kind": "shell"})(run)  # pyright: ignore


async def test_what_goes_on_has_options_of_its_own():
    seen = []

    @tool(needs_approval=True)
    async def order(context: ToolContext):
        seen.append(context.deps)
        return "ordered"

    answer = calls("final_answer", {"result": 7})
    subject = agent(calls("order", {}), answer, says("Seven."), says("More."), tools=[order])
    first = await subject.prompt("Go.", output=int, deps="first")
    result = await subject.resume({call.tool_call_id: "approve" for call in first.pending}, output=int, deps="second")
    assert (result.output, result.outcome, seen) == (7, "completed", ["second"])

    subject.follow_up("More?")
    queued = await subject.resume_if_queued(temperature=0)
    assert queued is not None and queued.text == "More."
    with pytest.raises(InvalidArgumentError, match='unknown option "max_turn"; did you mean "max_turns"'):
        await subject.resume(max_turn=1)


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_suspends_itself_also_behind_middleware(is_async):
    keys = []

    def begin(context):
        keys.append(context.idempotency_key)
        return context.suspend("waits for the signature")

    async def sign_async(context: ToolContext):
        raise begin(context)

    def sign(context: ToolContext):
        raise begin(context)

    async def around(call, next):
        try:
            return await next()
        except Exception as error:
            raise RuntimeError("something else") from error

    signs = tool(sign_async if is_async else sign, name="sign", description="Signs.")
    subject = agent(calls("sign"), says("Done."), tools=[signs], middleware=[around])
    result = await subject.prompt("Go.")
    assert [call.reason for call in result.pending] == ["waits for the signature"]
    await subject.resume({"call_0": "approve"})
    assert len(keys) == 2 and len(set(keys)) == 1 and keys[0] == subject.pending[0].idempotency_key
    result = await subject.resume({"call_0": {"result": {"content": [{"type": "text", "text": "signed"}], "details": 1}}})
    assert (results(result), result.messages[0].details) == (["signed"], 1)


async def test_decisions_are_checked_before_anything_runs():
    subject = agent(calls("pay", {"n": 50}), says("Done."), tools=[pay])
    await subject.prompt("Pay.")
    for decisions, text in [
        ({}, "nothing is decided about call_0"),
        ({"call_0": "yes"}, 'call_0: expected "approve"'),
        ({"call_0": {"arguments": {"n": "many"}}}, "the arguments do not fit"),
        ({"call_0": "deny", "call_1": "deny"}, "no call call_1 waits"),
    ]:
        with pytest.raises(InvalidArgumentError, match=text):
            await subject.resume(decisions)
    with pytest.raises(TypeError):
        await subject.resume({"call_0": object()})
    result = await subject.resume({"call_0": {"deny": "too dear"}})
    assert results(result) == ["too dear"]


async def test_a_stateless_run_is_suspended_and_resumed():
    model = scripted(calls("pay", {"n": 50}))
    result = await agent_loop.run({"tools": [pay]}, "Pay.", model=model).result()
    context = {"tools": [pay], "messages": result.messages}
    later = agent_loop.resume(context, {"call_0": "approve"}, model=scripted(says("Done.")))
    assert results(await later.result()) == ["paid 50"]


async def test_an_exported_conversation_goes_on_and_a_forged_one_does_not():
    subject = agent(calls("pay", {"n": 50}), tools=[pay])
    await subject.prompt("Pay.")
    for key in (None, KEY, KEY.encode()):
        again = Agent.from_export(subject.export(key), scripted(says("Done.")), key=key, tools=[pay])
        assert again.pending == subject.pending and again.messages == subject.messages
        assert results(await again.resume({"call_0": "approve"})) == ["paid 50"]
    signed = subject.export(KEY)
    # Python's JSON writes it in another way.
    assert Agent.from_export(json.dumps(json.loads(signed), indent=1, sort_keys=True), scripted(), key=KEY).pending
    forged = signed.replace("50", "5")
    another = "another key of thirty-two bytes."
    for text, key in [(forged, KEY), (signed, another), (signed, None), (subject.export(), KEY), ("{}", None)]:
        with pytest.raises(InvalidArgumentError, match="the export cannot be read"):
            Agent.from_export(text, scripted(), key=key)
    for short in (lambda: subject.export("short"), lambda: Agent.from_export(signed, scripted(), key="short")):
        with pytest.raises(InvalidArgumentError, match="the key of the export has 5 bytes; give at least 32 random ones"):
            short()


async def test_an_export_is_refused_beside_messages_and_when_it_is_newer():
    subject = agent(says("Hello."))
    await subject.prompt("Hi.")
    with pytest.raises(InvalidArgumentError, match='has the messages of its conversation; leave out the option "messages"'):
        Agent.from_export(subject.export(), scripted(), messages=subject.messages)
    newer = json.dumps(json.loads(subject.export()) | {"version": 2})
    with pytest.raises(NewerVersionError, match="has version 2; this library reads versions up to 1: update it"):
        Agent.from_export(newer, scripted())


async def test_stateless_runs_with_an_origin_have_the_same_keys():
    keys = []

    @tool(needs_approval=True)
    async def pay(context: ToolContext):
        """Pays."""
        keys.append(context.idempotency_key)

    async def played(**origin):
        keys.clear()
        first = await agent_loop.run({"tools": [pay]}, "Pay.", model=scripted(calls("pay")), **origin).result()
        context = {"tools": [pay], "messages": first.messages}
        await agent_loop.resume(context, {"call_0": "approve"}, model=scripted(says("Done.")), **origin).result()
        return [call.idempotency_key for call in first.pending] + keys

    assert await played(origin="invoice 7") == ["invoice 7/1/call_0", "invoice 7/1/call_0"]
    first, then = await played()
    assert first != then


async def test_an_export_is_of_an_idle_agent():
    refused = []

    def before_run(prompts):
        with pytest.raises(BusyError):
            subject.export()
        refused.append(True)

    subject = agent(says("Hello."), before_run=before_run)
    await subject.prompt("Hi.")
    assert refused and json.loads(subject.export())["suspended"] == []


async def test_the_hook_decides_about_a_call_without_a_result():
    seen = []

    def interrupted(call):
        seen.append((call.tool_call_id, call.tool_name, call.arguments, call.idempotency_key))
        return {"result": "it was sent"}

    asks = Tool(name="send", execute=lambda arguments, context: "sent", on_interrupted="ask")
    call = {"type": "tool_call", "id": "a", "name": "send", "arguments": {"n": 1}}
    left = {"role": "assistant", "content": [call], "stop_reason": "tool_use"}
    messages = [{"role": "user", "content": "go"}, left]
    subject = agent(says("Done."), tools=[asks], messages=messages, on_interrupted_call=interrupted)
    assert results(await subject.resume()) == ["it was sent"]
    assert [one[:3] for one in seen] == [("a", "send", {"n": 1})] and seen[0][3].endswith("/1/a")


def test_what_waits_is_a_value():
    call = SuspendedCall("a", "pay", {"n": 1}, "why", idempotency_key="k")
    assert call == pickle.loads(pickle.dumps(call)) == copy.copy(call)
    fields = {"tool_call_id": "a", "tool_name": "pay", "arguments": {"n": 1}, "reason": "why", "idempotency_key": "k"}
    assert call.to_dict() == fields
    assert issubclass(Suspension, Exception) and Suspension("why").reason == "why"
