"""Errors: their classes, fields and messages."""

import copy
import pickle
import socket

import agent_loop
import pytest
from agent_loop import (
    Agent,
    AgentConnectionError,
    AgentError,
    AgentIOError,
    AgentTimeoutError,
    AuthenticationError,
    BusyError,
    InvalidArgumentError,
    InvalidStateError,
    PanicError,
    RateLimitedError,
    StreamTruncatedError,
)
from mock import asked, chat, mock
from scripts import agent, events_of, fails, kinds

KINDS = {
    **{"authentication": "AuthenticationError", "permission": "PermissionDeniedError", "not_found": "NotFoundError"},
    **{"invalid_request": "InvalidRequestError", "context_overflow": "ContextOverflowError"},
    **{"rate_limited": "RateLimitedError", "quota": "QuotaError", "overloaded": "OverloadedError", "server": "ServerError"},
    **{"timeout": "AgentTimeoutError", "connection": "AgentConnectionError", "tls": "TlsError"},
    **{"stream_truncated": "StreamTruncatedError", "protocol": "ProtocolError", "provider": "ProviderError"},
    **{"callback": "CallbackError", "limit": "LimitError", "invalid_argument": "InvalidArgumentError"},
    **{"invalid_state": "InvalidStateError", "busy": "BusyError", "aborted": "AbortedError", "io": "AgentIOError"},
    **{"damaged": "DamagedError", "newer_version": "NewerVersionError", "panic": "PanicError"},
    **{"replay": "ReplayError"},
}


@pytest.mark.parametrize("kind", KINDS)
async def test_each_kind_has_its_class(kind):
    error_class = getattr(agent_loop, KINDS[kind])
    assert issubclass(error_class, AgentError) and error_class.kind == kind
    with pytest.raises(error_class) as caught:
        await agent(fails(kind, "a reason"), max_retries=0).prompt("hi")
    error = caught.value
    assert type(error) is error_class
    assert (error.kind, error.message, str(error), error.provider) == (kind, "a reason", "a reason", "scripted")
    assert (error.http_status, error.request_id, error.retry_after_ms) == (None, None, None)
    assert error.result.error.kind == kind


def test_there_is_no_other_class():
    exported = {name for name in agent_loop.__all__ if name.endswith("Error")}
    assert exported == {*KINDS.values(), "AgentError"}


def test_some_derive_from_built_in_exceptions():
    for error_class, builtin in [
        (InvalidArgumentError, ValueError),
        (AgentTimeoutError, TimeoutError),
        (AgentConnectionError, ConnectionError),
        (AgentIOError, OSError),
        (InvalidStateError, RuntimeError),
        (BusyError, RuntimeError),
        (PanicError, RuntimeError),
    ]:
        with pytest.raises(builtin, match="^text$"):
            raise error_class("text")


async def test_all_that_is_known_of_an_error_is_there():
    step = {
        **{"kind": "rate_limited", "message": "slow down", "provider": "p", "http_status": 429},
        **{"request_id": "r1", "retryable": True, "retry_after_ms": 1500},
    }
    with pytest.raises(RateLimitedError) as caught:
        await agent([{"error": step}], max_retries=0).prompt("hi")
    error = caught.value
    assert (error.provider, error.http_status, error.request_id) == ("p", 429, "r1")
    assert (error.retryable, error.retry_after_ms) == (True, 1500)
    assert error.to_dict() == step
    assert error.result.to_dict()["error"] == step


async def test_errors_can_be_copied_and_sent_to_other_processes():
    with pytest.raises(AuthenticationError) as caught:
        await agent(fails("authentication", "who are you?")).prompt("hi")
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert type(again) is AuthenticationError
        assert again.to_dict() == caught.value.to_dict() and again.result is None


async def test_a_missing_key_names_the_variable(monkeypatch):
    for provider, variable in [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")]:
        monkeypatch.delenv(variable, raising=False)
        subject = Agent(f"{provider}/some-model")
        with pytest.raises(AuthenticationError) as caught:
            await subject.prompt("hi")
        assert variable in str(caught.value)
        assert caught.value.result.message.stop_reason == "error"
        events = await events_of(subject.stream("hi"))
        assert kinds(events)[-4:] == ["message_start", "message_end", "turn_end", "agent_end"]


async def test_connection_refused():
    with socket.socket() as taken:  # and nothing listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(AgentConnectionError) as caught:
            await Agent("openai/tiny", base_url=f"http://127.0.0.1:{port}").prompt("hi")
    assert f"127.0.0.1:{port}" in str(caught.value) and "refused" in str(caught.value).lower()
    assert caught.value.retryable


async def test_a_refused_key_keeps_the_providers_own_message(tmp_path):
    body = {"json": {"error": {"message": "Incorrect API key provided: sk-…", "type": "invalid_request_error"}}}
    with mock(tmp_path, {"status": 401, "body": body}) as url:
        with pytest.raises(AuthenticationError) as caught:
            await Agent("openai/tiny", base_url=url, api_key="sk-secret").prompt("hi")
    host = url.removeprefix("http://")
    assert str(caught.value) == f"openai at {host} answered 401: Incorrect API key provided: sk-…"
    assert (caught.value.http_status, caught.value.provider, caught.value.retryable) == (401, "openai", False)


async def test_a_truncated_stream_keeps_the_received_part(tmp_path):
    body = chat({"content": "so far"}, {"content": " so good"})
    with mock(tmp_path, {"body": body, "chunk": "frame", "cut_after": body.index("\n\n") + 2}) as url:
        with pytest.raises(StreamTruncatedError) as caught:
            await Agent("openai/tiny", base_url=url).prompt("hi")
    assert caught.value.result.text == "so far"
    assert caught.value.retryable
    assert str(caught.value)


async def test_options_reach_the_server(tmp_path):
    with mock(tmp_path, {"body": chat({"content": "hi"})}) as url:
        subject = Agent(
            "openai/tiny",
            base_url=f"{url}/v1",
            api_key="k",
            temperature=0,
            max_tokens=7,
            headers={"x-own": "yes"},
            system_prompt="S",
        )
        assert (await subject.prompt("hello", headers={"x-trace": "7"})).text == "hi"
        (request,) = asked(url)
    body = request["body"]
    assert (body["model"], body["temperature"], body["stream"]) == ("tiny", 0, True)
    assert 7 in body.values()
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    headers = {name.lower(): value for name, value in dict(request["headers"]).items()}
    assert (headers["x-own"], headers["x-trace"], headers["authorization"]) == ("yes", "7", "Bearer k")


async def test_raw_events_show_the_frames(tmp_path):
    with mock(tmp_path, {"body": chat({"content": "hi"})}) as url:
        events = await events_of(Agent("openai/tiny", base_url=url, raw_events=True).stream("hello"))
    frames = [event.data for event in events if event.type == "raw"]
    assert frames[0]["choices"][0]["delta"] == {"content": "hi"}
