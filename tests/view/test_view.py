#!/usr/bin/env python3
"""The page of `agent view` in a real Chromium: what it shows, that nothing leaves it, its layout, contrast, keyboard and updates.

    with_browser.py -- test_view.py [NAME…]      runs the tests, those that have NAME in their names
    with_browser.py -- test_view.py --pictures   writes docs/view-*.png from the same conversation

Needs `agent` and `agent-mock` in target/$PROFILE, npm, and a browser as `tests/browser/with_browser.py` gives it.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import traceback
from base64 import b64decode, b64encode
from pathlib import Path

import recorded

sys.path.insert(0, str(recorded.ROOT / "tests/browser"))
from browser import Browser  # noqa: E402

AGENT = recorded.BUILT / "agent"
DOCS = recorded.ROOT / "docs"
AXE = "axe-core@4.14.1"
AXE_INTEGRITY = "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
# All that is folded, and what is not painted as it is not in view.
ALL_PAINTED = """
const sheet = new CSSStyleSheet()
sheet.replaceSync('.turn { content-visibility: visible !important }')
document.adoptedStyleSheets = [sheet]
"""
OPEN_ALL = f"""{{{ALL_PAINTED}}}
for (const row of document.querySelectorAll('button.row[aria-expanded=false]')) row.click()
for (const part of document.querySelectorAll('details')) part.open = true
"""


def axe():
    """The source of axe-core."""
    folder = recorded.ROOT / "target/browser" / AXE
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as begun:
            command = ["npm", "pack", "--silent", "--ignore-scripts", AXE]
            named = subprocess.run(command, cwd=begun, stdout=subprocess.PIPE, text=True, check=True).stdout
            packed = Path(begun) / named.split()[-1]
            hashed = "sha512-" + b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
            if hashed != AXE_INTEGRITY:
                sys.exit(f"{AXE} has another content than expected: {hashed}")
            with tarfile.open(packed) as archive:
                archive.extract("package/axe.min.js", begun, filter="data")
            folder.mkdir()
            (Path(begun) / "package/axe.min.js").rename(folder / "axe.min.js")
    return (folder / "axe.min.js").read_text(encoding="utf-8")


class Place:
    """The conversation, and pages of it in a browser."""

    def __init__(self, folder):
        self.folder, self.browser = folder, Browser()
        self.environment = recorded.environment(folder)
        recorded.converse(folder)

    def agent(self, *arguments, **options):
        return [AGENT, *arguments], {"cwd": self.folder, "env": self.environment, **options}

    def export(self, *of):
        """The address of an exported page."""
        command, options = self.agent("view", "--spec", "agent.toml", *of, "--export", "page.html")
        subprocess.run(command, check=True, **options)
        return (self.folder / "page.html").as_uri()

    def page(self, address, width=1280, height=900, scheme="light"):
        page = self.browser.page()
        for domain in ("Network", "Log", "Runtime"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.browser.events.clear()
        page.open(address)
        page.until("document.readyState === 'complete' && document.querySelector('.run')")
        return page

    def events(self, method):
        return [event["params"] for event in self.browser.events if event["method"] == method]

    @contextlib.contextmanager
    def served(self, *of):
        """The address of the page while it is served."""
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        command, options = self.agent("view", "--spec", "agent.toml", *of, **output)
        with subprocess.Popen(command, **options) as server:
            try:
                yield server.stdout.readline().strip()
            finally:
                server.send_signal(signal.SIGINT)
                assert server.wait(timeout=60) == 0

    def has(self, page, *texts):
        # Also what is out of sight.
        shown = page.evaluate(f"(() => {{{ALL_PAINTED} return document.body.innerText }})()")
        for text in texts:
            assert text in shown, f"{text!r} is not in:\n{shown}"


def test_a_recording_shows_all_that_happened(place):
    page = place.page(place.export("runs.jsonl"))
    place.has(
        page, "Run 1", "suspended", "Run 2", "completed", "failed: overloaded", "retry 1 after", "first token", "for a free slot",
        "steering queued: Change only what is wrong.", "waits for approval: edit_file", "decided:", "for approval", "$0.0",
        "from the cache", "Retries", "search_text",
    )
    # Two at a time: of the five calls, the second command waited for the first one.
    rows = page.evaluate("[...document.querySelectorAll('button.row')].map((row) => row.innerText.replace(/\\s+/g, ' '))")
    assert any("run_command sleep 0.9" in row and "for a free slot" in row for row in rows), rows
    bars = "[...document.querySelectorAll('button.row')].find((row) => row.innerText.includes('{}')).querySelectorAll('.track i')"
    classes = page.evaluate(f"[...{bars.format('sleep 0.9')}].map((bar) => bar.className).join()")
    # On a slow machine it waits for other things, too.
    assert classes.endswith("wait,tool"), classes
    assert page.evaluate(f"[...{bars.format('first token')}].some((bar) => bar.className === 'first')")
    assert page.evaluate("document.querySelector('.message img').naturalWidth") == 160
    page.evaluate("[...document.querySelectorAll('details')].find((part) => part.innerText.includes('edit_file')).open = true")
    page.until("document.querySelector('pre del')")
    assert page.evaluate("document.querySelector('pre ins').innerText.trim()") == "+a sun over the field"


def test_a_session_shows_its_runs(place):
    page = place.page(place.export("field"))
    place.has(
        page, "Does the README fit the picture?", "Run 1", "Run 2", "completed", "User · steering", "for a free slot",
        "decided:", "approve", "waits for approval: edit_file", "failed: overloaded", "retry 1 after", "first token",
    )


def test_the_last_session_is_shown_unless_one_is_named(place):
    place.has(place.page(place.export()), "session · field")


def test_nothing_leaves_the_page_and_texts_are_no_html(place):
    for of in ("runs.jsonl", "field"):
        page = place.page(place.export(of))
        page.evaluate(OPEN_ALL)
        page.until("document.querySelectorAll('details:not([open])').length === 0")
        place.has(page, recorded.HOSTILE)
        assert page.evaluate("window.wasRun") is None
        asked = [request["request"]["url"] for request in place.events("Network.requestWillBeSent")]
        assert [url[:40] for url in asked if not url.startswith(("data:", "file:"))] == []
        assert [url for url in asked if url.startswith("file:")] == [(place.folder / "page.html").as_uri()]
        assert place.events("Runtime.exceptionThrown") == []
        assert [entry for entry in place.events("Log.entryAdded") if entry["entry"]["level"] == "error"] == []
        # The policy holds: what the page itself would not do is refused.
        refused = page.evaluate("""new Promise((done) => {
          document.addEventListener('securitypolicyviolation', (event) => done(event.violatedDirective))
          document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:9/x.png' }))
        })""")
        assert refused == "img-src", refused


def test_no_key_is_in_the_page(place):
    for of in ("runs.jsonl", "field"):
        place.export(of)
        text = (place.folder / "page.html").read_text()
        assert recorded.KEY not in text and "x-api-key" not in text.lower() and "authorization" not in text.lower()


def test_nothing_is_wider_than_the_window(place):
    for of in (["runs.jsonl"], ["field"], ["runs.jsonl", "field"]):
        address = place.export(*of)
        for width in (360, 1600):
            page = place.page(address, width)
            page.evaluate(OPEN_ALL)
            page.until("document.querySelectorAll('details:not([open])').length === 0")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{of} at {width}: {wide} pixels too wide"
            beyond = page.evaluate("""[...document.querySelectorAll('main *')].filter((element) =>
              !element.closest('pre, .over, .track') && element.getBoundingClientRect().right > innerWidth + 1)
              .map((element) => element.outerHTML)""")
            assert beyond == [], f"{of} at {width}: {beyond[:3]}"


def test_it_is_accessible_in_both_themes(place):
    source = axe()
    for of in (["runs.jsonl"], ["field"], ["runs.jsonl", "field"]):
        address = place.export(*of)
        for scheme in ("light", "dark"):
            page = place.page(address, scheme=scheme)
            page.evaluate(OPEN_ALL)
            page.until("document.querySelectorAll('details:not([open])').length === 0")
            page.evaluate(f"{source};0")
            found = page.evaluate("axe.run().then(({ violations, passes, incomplete }) => ({ violations, passes, incomplete }))")
            broken = [(one["id"], one["help"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found["violations"]]
            assert broken == [], f"{of}, {scheme}: {broken}"
            contrast = [one for one in found["passes"] if one["id"] == "color-contrast"]
            assert contrast and len(contrast[0]["nodes"]) > 50, "axe-core has compared no colours"
            unsure = [node["html"][:200] for one in found["incomplete"] if one["id"] == "color-contrast" for node in one["nodes"]]
            assert unsure == [], f"{of}, {scheme}: {unsure[:3]}"


def test_the_theme_can_be_chosen(place):
    page = place.page(place.export("field"), scheme="light")
    back = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(back) == "rgb(255, 255, 255)"
    for name, expected in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(15, 19, 24)"), ("system", "rgb(255, 255, 255)")):
        page.evaluate("document.getElementById('theme').click()")
        assert page.evaluate("document.getElementById('theme').innerText") == f"Theme: {name}"
        assert page.evaluate(back) == expected, name


def press(page, key):
    number = {"Tab": 9, "Enter": 13, "ArrowDown": 40}[key]
    for kind in ("keyDown", "keyUp"):
        text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=number, **text)


def test_the_keyboard_reaches_everything(place):
    page = place.page(place.export("runs.jsonl"))
    seen = []
    for _ in range(4):
        press(page, "Tab")
        seen.append(page.evaluate("document.activeElement.className || document.activeElement.id"))
    assert seen[:2] == ["skip", "theme"] and "row" in seen, seen
    page.evaluate("document.querySelector('button.row').focus()")
    press(page, "ArrowDown")
    assert page.evaluate("[...document.querySelectorAll('button.row')].indexOf(document.activeElement)") == 1
    press(page, "Enter")
    page.until("document.activeElement.getAttribute('aria-expanded') === 'true'")
    place.has(page, "Tokens", "First token", "Answer")


def test_a_page_follows_runs_that_go_on(place):
    begun = [
        {"body": {"message": {"text": "First the folder.", "tool_calls": [recorded.call("run_command", command="sleep 2")]}}},
        {"body": {"message": {"text": "That was all."}}},
    ]
    with recorded.mock(place.folder, begun) as model, open(place.folder / "events.jsonl", "w") as events:
        given = ["--spec", "agent.toml", "--session", "live", "--json", "--base-url", model, "Go on."]
        command, options = place.agent(*given, stdout=events)
        with subprocess.Popen(command, **options) as run:
            while "tool_execution_start" not in (place.folder / "events.jsonl").read_text():
                assert run.poll() is None
            with place.served("live") as session, place.served("events.jsonl") as file:
                pages = [place.page(address) for address in (session, file)]
                for page in pages:
                    place.has(page, "running", "First the folder.", "so far", "live")
                    page.evaluate("document.querySelector('button.row').click(); document.querySelector('button.row').focus()")
                for page in pages:
                    page.until("document.querySelector('.state.completed')")
                    place.has(page, "That was all.")
                    # What was open is open, and has the focus.
                    assert page.evaluate("document.activeElement.className") == "row"
                    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
                    assert page.evaluate("window.wasRun") is None
                assert run.wait(timeout=60) == 0
                for page in pages:
                    assert not page.evaluate("document.querySelector('i.open')")
    pages[0].until("document.getElementById('status').innerText.includes('has ended')")


def test_two_are_compared(place):
    text = (place.folder / "runs.jsonl").read_text()
    (place.folder / "same.jsonl").write_text(text)
    page = place.page(place.export("runs.jsonl", "same.jsonl"))
    place.has(page, "Two runs compared", "Both say and do the same.")
    (place.folder / "other.jsonl").write_text(text.replace("a sun over the field", "a lamp over the field"))
    page = place.page(place.export("runs.jsonl", "other.jsonl"))
    place.has(page, "The first: run 1, turn 2: the call of edit_file differs.")
    assert page.evaluate("document.querySelectorAll('[data-side]').length") == 2
    page.evaluate("document.querySelector('#compared a').click()")
    assert page.evaluate("document.querySelector(location.hash).innerText").startswith("Turn 2")


def test_five_hundred_turns_are_there_at_once(place):
    lines = [{"type": "agent_start", "run_id": "r", "seq": 0, "turn": 0, "time": 1_700_000_000_000}]
    at = 1_700_000_000_000
    for turn in range(1, 501):
        at += 1000
        call = {"type": "tool_call", "id": f"c{turn}", "name": "step", "arguments": {"number": turn}}
        answer = {
            "role": "assistant", "content": [{"type": "text", "text": f"Step **{turn}**"}, call], "provider": "own", "model": "m",
            "usage": {"input": 1, "output": 1}, "stop_reason": "tool_use", "timestamp": at - 900,
        }
        content = [{"type": "text", "text": "x" * 200}]
        result = {"role": "tool_result", "tool_call_id": f"c{turn}", "tool_name": "step", "content": content}
        for event in (
            {"type": "turn_start", "turn": turn}, {"type": "message_end", "turn": turn, "message": answer},
            {"type": "tool_execution_start", "tool_call_id": f"c{turn}", "tool_name": "step", "arguments": {"number": turn}},
            {"type": "tool_execution_end", "tool_call_id": f"c{turn}", "tool_name": "step", "is_error": False},
            {"type": "message_end", "turn": turn, "message": result},
        ):
            lines.append({**event, "run_id": "r", "time": at})
    lines.append({"type": "agent_end", "run_id": "r", "time": at, "outcome": "completed", "turns": 500})
    (place.folder / "long.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = place.page(place.export("long.jsonl"), 360)
    assert page.evaluate("document.querySelectorAll('.turn').length") == 500
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    # Turns out of sight are not painted: their text is not among what is shown.
    assert "Step 500" in page.evaluate("document.body.textContent")
    assert "Step 500" not in page.evaluate("document.body.innerText")


def pictures(place):
    """Writes the pictures of docs/view.md."""
    address = place.export("runs.jsonl")
    other = (place.folder / "runs.jsonl").read_text().replace("a sun over the field", "a lamp over the field")
    (place.folder / "other.jsonl").write_text(other)
    for name, of, width, height, scheme in (
        ("light", ["runs.jsonl"], 1280, 820, "light"), ("dark", ["runs.jsonl"], 1280, 820, "dark"),
        ("narrow", ["runs.jsonl"], 360, 780, "light"), ("compared", ["runs.jsonl", "other.jsonl"], 1280, 820, "light"),
    ):
        address = place.export(*of)
        page = place.page(address, width, height, scheme)
        if name == "compared":
            page.evaluate("document.querySelector('#compared a').click()")
        else:
            page.evaluate("document.querySelectorAll('button.row')[1].click()")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        picture = DOCS / f"view-{name}.png"
        picture.write_bytes(b64decode(page.call("Page.captureScreenshot", format="png")["data"]))
        print(picture, picture.stat().st_size)


def main(arguments):
    counts = {"passed": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        if arguments == ["--pictures"]:
            pictures(place)
            return 0
        for name, test in [(name, test) for name, test in globals().items() if name.startswith("test_")]:
            if arguments and not any(part in name for part in arguments):
                continue
            try:
                test(place)
            except Exception:
                traceback.print_exc()
                counts["failed"] += 1
                print(f"FAILED {name}", flush=True)
            else:
                counts["passed"] += 1
                print(f"ok {name}", flush=True)
        place.browser.close()
    print(f"{counts['passed']} passed, {counts['failed']} failed, 0 skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
