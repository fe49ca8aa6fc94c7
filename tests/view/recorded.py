"""A conversation for the tests of the page, and for its pictures: with parallel tools, a retry, steering, an image, an approval.

A model of agent-mock has it with `agent chat` in a terminal. What comes of it is a session, and a recording of its runs.
"""

import contextlib
import json
import os
import pty
import re
import select
import struct
import subprocess
import time
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "target" / os.environ.get("PROFILE", "ci")
KEY = "sk-ant-of-this-test-0123456789"
# What would run if the page took a text for HTML.
HOSTILE = "</script><script>window.wasRun = 1</script><img src=x onerror='window.wasRun = 1'>"
SPEC = """
name = "tester"
system_prompt = "You look after this folder."
max_parallel_tools = 2
steering_policy = "after_batch"
tools = ["read_file", "list_directory", "search_text", "edit_file", "run_command"]

[gate]
allow = ["run_command(sleep *)", "read_file", "list_directory", "search_text"]

[model]
provider = "anthropic"
id = "claude-sonnet-4-5"
cost = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75 }
"""


def picture():
    """A PNG: a sun above a field."""
    width, height = 160, 90
    rows = []
    for y in range(height):
        row = bytearray([0])
        for x in range(width):
            is_sun = (x - 118) ** 2 + (y - 28) ** 2 < 260
            row += bytes((250, 205, 70) if is_sun else (98, 160, 74) if y > 58 + (x % 40) // 8 else (150, 200, 240))
        rows.append(bytes(row))
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(rows), 9)) + chunk(b"IEND", b"")


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


ANSWERS = [
    {"body": {"error": "overloaded"}, "delay_ms": 150},
    {
        "body": {"message": {
            "thinking": "The picture and the text first. The counts can run beside them.",
            "signature": "c2lnbmVk",
            "text": "I look at the files.",
            "tool_calls": [
                call("read_file", path="README.md"), call("read_file", path="field.png"),
                call("run_command", command="sleep 0.6"), call("run_command", command="sleep 0.9"),
                call("search_text", pattern="sun"),
            ],
            "usage": {"input": 1840, "output": 212, "cache_read": 1200},
        }},
        "delay_ms": 400, "frame_delay_ms": 25,
    },
    {
        "body": {"message": {
            "text": "The text says moon where the picture has a sun. I change that.",
            "tool_calls": [
                call("edit_file", path="README.md", old_text="a moon over the field", new_text="a sun over the field"),
            ],
            "usage": {"input": 3120, "output": 96, "cache_read": 1840},
        }},
        "delay_ms": 700, "frame_delay_ms": 20,
    },
    {
        "body": {"message": {
            "text": f"Done. **One line** of `README.md` changed:\n\n- a moon over the field\n- a sun over the field\n\n"
                    f"```\n{HOSTILE}\n```\n\nThe rest is as it was: {HOSTILE}",
            "usage": {"input": 3400, "output": 88, "cache_read": 3120},
        }},
        "delay_ms": 350, "frame_delay_ms": 25,
    },
]


class Terminal:
    """A program in a terminal."""

    def __init__(self, command, **options):
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, **options)
        os.close(slave)
        self.shown = ""

    def until(self, pattern):
        """Blocks until it has shown this; what was before is forgotten."""
        end = time.monotonic() + 60  # far longer than it takes
        while not (found := re.search(pattern, self.shown)):
            if time.monotonic() > end or not self._read():
                raise TimeoutError(f"{pattern!r} never came:\n{self.shown}")
        self.shown = self.shown[found.end():]

    def type(self, text):
        os.write(self._master, text.encode())

    def _read(self):
        if not select.select([self._master], [], [], 1)[0]:
            return True
        try:
            read = os.read(self._master, 1 << 16)
        except OSError:
            return False
        self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", read.decode(errors="replace"))
        return bool(read)

    def poll(self):
        self._read()

    def end(self):
        while self._read() and self._process.poll() is None:
            pass
        code = self._process.wait(timeout=60)
        os.close(self._master)
        return code


@contextlib.contextmanager
def mock(folder, answers):
    """A model server that gives these answers."""
    script = folder / "model.json"
    script.write_text(json.dumps({"answers": answers}))
    with subprocess.Popen([BUILT / "agent-mock", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


def environment(folder):
    return {
        "PATH": os.environ["PATH"], "HOME": str(folder), "AGENT_HOME": str(folder / "home"), "ANTHROPIC_API_KEY": KEY,
        "TERM": "xterm", "LANG": "C.UTF-8",
    }


def prepare(folder):
    (folder / "agent.toml").write_text(SPEC)
    work = folder / "work"
    work.mkdir()
    (work / "README.md").write_text("# The field\n\nThe picture shows a moon over the field.\nNo sun is in sight.\n")
    (work / "field.png").write_bytes(picture())


def converse(folder):
    """Has the conversation in this folder: the session `field`, and `runs.jsonl`."""
    prepare(folder)
    with mock(folder, ANSWERS) as address:
        command = [BUILT / "agent", "chat", "--spec", "../agent.toml", "--session", "field", "--record", "../runs.jsonl"]
        terminal = Terminal([*command, "--base-url", address], cwd=folder / "work", env=environment(folder))
        terminal.until("/help")
        terminal.type("Does the README fit the picture?\r")
        terminal.until("- run_command")
        terminal.type("Change only what is wrong.\r")
        terminal.until(r"edit_file[\s\S]*\?")
        terminal.type("y\r")
        terminal.until("as it was")
        # The prompt is there again: what is typed before would steer the run.
        while (folder / "runs.jsonl").read_text().count('"agent_end"') < 2:
            terminal.poll()
        terminal.type("/quit\r")
        code = terminal.end()
        if code:
            raise RuntimeError(f"agent chat exited with {code}:\n{terminal.shown}")
