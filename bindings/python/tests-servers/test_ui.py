"""The servers and the page of examples/chat, with the AI SDK's own `useChat`, versions 6 and 7, in a real browser at
$AGENT_CHROMIUM (tests/browser/with_browser.py). Only the model is another one: it answers what the test says, when the test says
it. tests/ui/node_modules has the packages."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/browser")]
from browser import Browser  # noqa: E402

MODULES = ROOT / "tests/ui/node_modules"
EXAMPLE = ROOT / "examples/chat"
pytestmark = [
    pytest.mark.skipif("AGENT_CHROMIUM" not in os.environ, reason="no browser at $AGENT_CHROMIUM"),
    pytest.mark.skipif(not MODULES.exists(), reason="no packages in tests/ui: npm install"),
]

# Chunks of an answer are lines from the test, which is connected to for each call.
IN_PYTHON = """
import asyncio
import json
import os


async def provider(request):
    reader, _writer = await asyncio.open_connection("127.0.0.1", int(os.environ["MODEL_PORT"]))
    while line := await reader.readline():
        chunk = json.loads(line)
        if "fails" in chunk:
            raise RuntimeError(chunk["fails"])
        yield chunk


app = """
IN_NODE = """
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

async function* provider(request, { signal }) {
  const socket = connect(Number(process.env.MODEL_PORT), '127.0.0.1')
  signal.addEventListener('abort', () => socket.destroy())
  for await (const line of createInterface(socket)) {
    const chunk = JSON.parse(line)
    if (chunk.fails) throw new Error(chunk.fails)
    yield chunk
  }
}

const agents = """
REPLACED = {
    "app.py": [("\napp = ", IN_PYTHON), ('"anthropic/claude-sonnet-4-5"', '"own/m", provider=provider')],
    "app.mjs": [
        ("\nconst agents = ", IN_NODE),
        ("'anthropic/claude-sonnet-4-5'", "'own/m', provider"),
        (
            "app.listen(8000)",
            "const server = app.listen(0, '127.0.0.1', () =>"
            " console.error('running on http://127.0.0.1:' + server.address().port))",
        ),
    ],
}
VERSIONS = {"6": [], "7": ["--alias:ai=ai-7", "--alias:@ai-sdk/react=ai-sdk-react-4"]}


class Call:
    """A call of the model."""

    def __init__(self, connection):
        self._connection = connection
        connection.settimeout(60)  # far longer than it takes, so that a failure ends

    def says(self, *pieces):
        for piece in pieces:
            self._connection.sendall(json.dumps(piece).encode() + b"\n")

    def calls(self, id, name, **arguments):
        self.says({"tool_call": {"id": id, "name": name, "arguments": arguments}}, {"end": "tool_use"})
        self._connection.close()

    def ends(self, *pieces):
        self.says(*pieces, {"end": "stop"})
        self._connection.close()

    def fails(self, text):
        self.says({"fails": text})
        self._connection.close()

    def left(self):
        """Blocks until the server has closed the connection."""
        with self._connection:
            return self._connection.recv(1) == b""


class Service:
    """The server, and its model."""

    def __init__(self, program, version, folder):
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
        text = (folder / program).read_text(encoding="utf-8")
        for old, new in REPLACED[program]:
            assert old in text
            text = text.replace(old, new)
        (folder / program).write_text(text, encoding="utf-8")
        (folder / "node_modules").mkdir()
        for module in MODULES.iterdir():
            (folder / "node_modules" / module.name).symlink_to(module)
        (folder / "node_modules/agent-loop").symlink_to(ROOT / "bindings/node")
        build = json.loads((folder / "package.json").read_text(encoding="utf-8"))["scripts"]["build"].split()
        subprocess.run([MODULES / ".bin/esbuild", *build[1:], *VERSIONS[version]], cwd=folder, check=True, capture_output=True)
        self.model = socket.create_server(("127.0.0.1", 0))
        self.model.settimeout(60)  # as of a call
        command = {
            "app.py": [sys.executable, "-m", "uvicorn", "app:app", "--port", "0", "--no-access-log"],
            "app.mjs": ["node", "app.mjs"],
        }[program]
        environment = os.environ | {"MODEL_PORT": str(self.model.getsockname()[1])}
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := re.search(r"running on http://127.0.0.1:(\d+)", line):
                self.address = f"http://127.0.0.1:{found[1]}/"
                return
        pytest.fail(f"the server ended before it listened:\n{''.join(lines)}")

    def call(self):
        """The next call of the model."""
        return Call(self.model.accept()[0])

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.model.close()


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(params=[("app.py", "6"), ("app.py", "7"), ("app.mjs", "6"), ("app.mjs", "7")], ids=lambda of: "-".join(of))
def service(request, tmp_path):
    service = Service(*request.param, tmp_path)
    yield service
    service.close()


class Chat:
    def __init__(self, browser, service):
        self.page, self.service = browser.page(service.address), service
        self.page.until("document.querySelector('form') !== null")

    def write(self, text):
        self.page.evaluate(
            "(() => { const input = document.querySelector('input');"
            " Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, "
            f"{json.dumps(text)}); input.dispatchEvent(new Event('input', {{ bubbles: true }})) }})()"
        )
        self.page.until(f"document.querySelector('input').value === {json.dumps(text)}")

    def send(self, text):
        """Sends a message as a user does; returns the call of the model."""
        self.write(text)
        self.page.evaluate("document.querySelector('form').requestSubmit()")
        return self.service.call()

    def click(self, text):
        buttons = "[...document.querySelectorAll('button')]"
        self.page.evaluate(f"{buttons}.find((one) => one.textContent === {json.dumps(text)}).click()")

    def shows(self, text, where="main"):
        self.page.until(f"document.querySelector('{where}')?.innerText.includes({json.dumps(text)})")

    def is_ready(self):
        self.page.until("document.querySelector('output').textContent === 'ready'")


def test_a_text_is_shown_while_it_is_written(browser, service):
    chat = Chat(browser, service)
    call = chat.send("Hello.")
    call.says("Good ")
    chat.shows("Good", ".assistant")
    call.ends("morning.")
    chat.shows("Good morning.", ".assistant")
    chat.is_ready()
    chat.page.reload()
    chat.shows("Good morning.", ".assistant")
    chat.is_ready()
    chat.send("Again.").ends("Hm.")
    chat.shows("Hm.")
    chat.is_ready()
    chat.click("Again")
    service.call().ends("Hello again.")
    chat.shows("Hello again.")
    assert "Hm." not in chat.page.evaluate("document.body.innerText")


def test_an_earlier_message_is_edited_before_and_after_a_reload(browser, service):
    chat = Chat(browser, service)
    chat.send("Hello.").ends("One.")
    chat.shows("One.", ".assistant")
    chat.is_ready()
    for text, answer, old in (("Good day.", "Two.", "One."), ("Good night.", "Three.", "Two.")):
        chat.write(text)
        chat.click("Ask this instead")
        service.call().ends(answer)
        chat.shows(answer, ".assistant")
        chat.is_ready()
        shown = chat.page.evaluate("document.querySelector('main').innerText")
        assert text in shown and old not in shown
        chat.page.reload()
        chat.shows(answer, ".assistant")
        chat.is_ready()


def test_a_tool_is_called_and_one_fails_without_its_text(browser, service):
    chat = Chat(browser, service)
    chat.send("Rain in Oslo?").calls("1", "weather", city="Oslo")
    chat.shows('weather {"city":"Oslo"}: output-available {"city":"Oslo","sky":"rain"}', ".tool")
    service.call().calls("2", "weather", city="Atlantis")
    chat.shows('weather {"city":"Atlantis"}: output-error An error occurred.')
    service.call().ends("It rains.")
    chat.shows("It rains.")
    assert "10.0.0.7" not in chat.page.evaluate("document.body.innerText")


def test_a_call_is_approved_after_a_reload_and_another_is_denied(browser, service):
    chat = Chat(browser, service)
    chat.send("Oslo, please.").calls("1", "book", city="Oslo")
    chat.shows("approval-requested", ".tool")
    chat.is_ready()
    chat.page.reload()
    chat.shows("approval-requested", ".tool")
    chat.is_ready()
    chat.click("Approve")
    call = service.call()
    chat.shows('output-available "booked Oslo"', ".tool")
    call.calls("2", "book", city="Bergen")
    chat.shows('book {"city":"Bergen"}: approval-requested')
    chat.is_ready()
    chat.click("Deny")
    service.call().ends("Fine.")
    chat.shows('book {"city":"Bergen"}: output-denied')
    chat.shows("Fine.")


def test_a_page_that_is_loaded_again_in_mid_answer_goes_on(browser, service):
    chat = Chat(browser, service)
    call = chat.send("Tell a story.")
    call.says("Once upon ")
    chat.shows("Once upon", ".assistant")
    chat.page.reload()
    chat.shows("Once upon", ".assistant")
    call.ends("a time.")
    for _ in range(2):
        chat.shows("Once upon a time.", ".assistant")
        chat.is_ready()
        assert chat.page.evaluate("document.body.innerText").count("Once upon") == 1
        chat.page.reload()
    # What an approval has begun goes on without the page.
    chat.shows("Once upon a time.", ".assistant")
    chat.is_ready()
    chat.send("Oslo, please.").calls("1", "book", city="Oslo")
    chat.shows("approval-requested", ".tool")
    chat.is_ready()
    chat.click("Approve")
    call = service.call()
    call.says("It is ")
    chat.shows("It is")
    chat.page.reload()
    chat.shows('output-available "booked Oslo"', ".tool")
    call.ends("booked.")
    chat.is_ready()
    chat.send("Thanks.").ends("Bye.")
    chat.shows("Bye.")
    chat.page.reload()
    chat.shows("Bye.")
    chat.shows("It is booked.")
    assert chat.page.evaluate("document.querySelectorAll('.tool').length") == 1


def test_stop_aborts_the_run_and_the_next_message_goes_on(browser, service):
    chat = Chat(browser, service)
    call = chat.send("Tell a story.")
    call.says("Once upon ")
    chat.shows("Once upon", ".assistant")
    chat.click("Stop")
    chat.is_ready()
    assert call.left()
    chat.send("And now?").ends("The end.")
    chat.shows("The end.")


def test_the_text_of_a_failure_is_not_shown(browser, service):
    chat = Chat(browser, service)
    call = chat.send("Hello.")
    call.fails("no account at 10.0.0.7")
    chat.shows("An error occurred.", ".error")
    assert "10.0.0.7" not in chat.page.evaluate("document.body.innerText")
