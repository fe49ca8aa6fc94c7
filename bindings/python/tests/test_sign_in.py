"""What a user has stored for a provider, as `agent auth login` stores it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from agent_loop import Agent, AuthenticationError

KEY = "sk-test-1234567890"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A folder of keys of the tests' own."""
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENT_KEYRING", "file")
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home/.credentials"
    folder.mkdir(parents=True, mode=0o700)
    return folder


@pytest.fixture
def server():
    """A model server: its address, and the keys that it gets."""
    keys = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            keys.append(self.headers["authorization"])
            self.rfile.read(int(self.headers["content-length"]))
            choices = [{"delta": {"content": "Yes."}}, {"delta": {}, "finish_reason": "stop"}]
            chunks = [json.dumps({"id": "c", "choices": [{"index": 0} | choice]}) for choice in choices]
            body = "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}", keys
        listening.shutdown()
        thread.join()


async def test_a_stored_key_is_sent(store, server):
    file = store / "openai.json"
    file.write_text(json.dumps({"key": KEY}))
    file.chmod(0o600)
    url, keys = server
    agent = Agent("openai/m", api_key="keyring", base_url=url)
    assert (await agent.prompt("Hi.")).text == "Yes."
    assert keys == [f"Bearer {KEY}"]


async def test_nothing_stored_says_how_to_sign_in(store, server):
    # Of another provider: the runtime goes on with what it has read.
    url, keys = server
    with pytest.raises(AuthenticationError, match="nothing is stored for groq: sign in with `agent auth login groq`"):
        await Agent("groq/m", api_key="keyring", base_url=url).prompt("Hi.")
    assert keys == []
