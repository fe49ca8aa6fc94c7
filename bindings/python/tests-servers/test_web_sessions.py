"""The servers and the page of docs/web-sessions.md, as they stand there, in a real browser at $AGENT_CHROMIUM
(tests/browser/with_browser.py). Only the model is another one: it answers what the test says, when the test says it."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from agent_loop import Store

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/browser")]
import snippets  # noqa: E402
from browser import Browser  # noqa: E402

pytestmark = pytest.mark.skipif("AGENT_CHROMIUM" not in os.environ, reason="no browser at $AGENT_CHROMIUM")

DOCUMENT = ROOT / "docs/web-sessions.md"
PROGRAMS = {language: text for feature in snippets.read(DOCUMENT) for language, text in feature.snippets.items()}
# Chunks of an answer are lines from the test, which is connected to for each call.
IN_PYTHON = """
import json
import os


async def provider(request):
    reader, _writer = await asyncio.open_connection("127.0.0.1", int(os.environ["MODEL_PORT"]))
    while line := await reader.readline():
        yield json.loads(line)


"""
IN_NODE = """
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

async function* provider() {
  const socket = connect(Number(process.env.MODEL_PORT), '127.0.0.1')
  for await (const line of createInterface(socket)) yield JSON.parse(line)
}

"""
REPLACED = {
    "python": [("\n\napp = ", f"\n{IN_PYTHON}app = "), ('"anthropic/claude-sonnet-4-5"', '"own/m", provider=provider')],
    "node": [
        ("\n\nconst store = ", f"\n{IN_NODE}const store = "),
        ("'anthropic/claude-sonnet-4-5'", "'own/m', provider"),
        (
            "server.listen(8000)",
            "server.listen(Number(process.argv[2]), '127.0.0.1', () =>"
            " console.error('running on http://127.0.0.1:' + server.address().port))",
        ),
    ],
}


class Call:
    """A call of the model."""

    def __init__(self, connection):
        self._connection = connection

    def says(self, *pieces):
        for piece in pieces:
            self._connection.sendall(json.dumps(piece).encode() + b"\n")

    def ends(self):
        self._connection.close()


class Service:
    """The server, which may be killed and started again, and its model."""

    def __init__(self, language, folder):
        program = PROGRAMS[language]
        for old, new in REPLACED[language]:
            assert old in program
            program = program.replace(old, new)
        (folder / {"python": "app.py", "node": "app.mjs"}[language]).write_text(program, encoding="utf-8")
        (folder / "node_modules").mkdir()
        (folder / "node_modules/agent-loop").symlink_to(ROOT / "bindings/node")
        (page,) = re.findall(r"^```html\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        (folder / "page.html").write_text(page, encoding="utf-8")
        self.language, self.folder, self.process, self.port = language, folder, None, 0
        self.model = socket.create_server(("127.0.0.1", 0))
        self.model.settimeout(60)  # far longer than it takes, so that a failure ends
        self.start()

    def start(self):
        port = str(self.port)
        command = {
            "python": [sys.executable, "-m", "uvicorn", "app:app", "--port", port, "--no-access-log"],
            "node": ["node", "app.mjs", port],
        }[self.language]
        environment = os.environ | {"MODEL_PORT": str(self.model.getsockname()[1])}
        self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := re.search(r"running on http://127.0.0.1:(\d+)", line):
                self.port = int(found[1])
                return
        pytest.fail(f"the server ended before it listened:\n{''.join(lines)}")

    def call(self):
        """The next call of the model."""
        return Call(self.model.accept()[0])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def transcript(self):
        """What a page is to show of the session: roles and texts."""
        records = Store.open(str(self.folder / "chats.db")).session("a").records_sync()
        messages = [record["message"] for record in records if record["kind"] == "message"]
        return [[message["role"], "".join(block.get("text", "") for block in message["content"])] for message in messages]


class Chat:
    """A page of the session."""

    def __init__(self, browser, service):
        self.page = browser.page(f"http://127.0.0.1:{service.port}/a")
        self.page.until("document.readyState === 'complete'")

    def asks(self, text):
        self.page.evaluate(f"form.text.value = {json.dumps(text)}; form.requestSubmit()")

    def shows(self, *lines):
        """Waits until the page shows these lines, and no other."""
        shown = "JSON.stringify([...document.querySelectorAll('main p')].map((line) => [line.className, line.textContent]))"
        self.page.until(f"{shown} === {json.dumps(json.dumps(lines, separators=(',', ':'), ensure_ascii=False))}")


@pytest.fixture(params=["python", "node"])
def service(request, tmp_path):
    started = Service(request.param, tmp_path)
    yield started
    started.kill()
    started.model.close()


@pytest.fixture
def browser():
    started = Browser()
    yield started
    started.close()


def test_a_page_that_is_loaded_again_in_mid_answer_loses_and_repeats_nothing(browser, service):
    chat = Chat(browser, service)
    chat.asks("Rain in Oslo?")
    call = service.call()
    call.says("It ", "is ")
    chat.shows(["user", "Rain in Oslo?"], ["assistant", "It is "])
    chat.page.reload()
    chat.shows(["user", "Rain in Oslo?"], ["assistant", "It is "])
    other = Chat(browser, service)
    call.says("rain", "ing ‒ ")
    for page in chat, other:
        page.shows(["user", "Rain in Oslo?"], ["assistant", "It is raining ‒ "])
    chat.page.reload()
    call.says("again.")
    call.ends()
    whole = [["user", "Rain in Oslo?"], ["assistant", "It is raining ‒ again."]]
    for page in chat, other:
        page.shows(*whole)
    other.asks("And in Bergen?")
    call = service.call()
    call.says("Always.")
    call.ends()
    whole += [["user", "And in Bergen?"], ["assistant", "Always."]]
    for page in chat, other:
        page.shows(*whole)
        page.page.reload()
        page.shows(*whole)
    assert service.transcript() == whole


def test_a_page_goes_on_when_the_server_was_killed_in_mid_answer(browser, service):
    chat = Chat(browser, service)
    chat.asks("Rain in Oslo?")
    cut = service.call()
    cut.says("It is ")
    chat.shows(["user", "Rain in Oslo?"], ["assistant", "It is "])
    service.kill()
    cut.ends()
    service.start()
    # The browser connects again by itself, which opens the session; the model is asked again.
    call = service.call()
    chat.shows(["user", "Rain in Oslo?"])
    call.says("It is ", "dry.")
    chat.shows(["user", "Rain in Oslo?"], ["assistant", "It is dry."])
    call.ends()
    other = Chat(browser, service)
    for page in chat, other:
        page.shows(["user", "Rain in Oslo?"], ["assistant", "It is dry."])
    assert service.transcript() == [["user", "Rain in Oslo?"], ["assistant", "It is dry."]]
