#!/usr/bin/env python3
"""`agent chat` in a terminal, against the server at $AGENT_LLAMA_URL: a conversation with a calculator, a call that is asked
about, a message that steers, an abort, and a run that goes on after `kill -9`; and keys that come early, and Ctrl-Z.

chat.py AGENT [PICTURE.svg]: the program; draws what was shown. The last line counts the tests: N passed, N failed, N skipped.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from terminal import Terminal, drawn

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = 88
SPEC = """name = "agent"
model = "local/tiny"
base_url = "{url}"
system_prompt = "Calculate with the tool."

[gate]
ask = ["calculator"]

[[mcp]]
command = "{python}"
args = ["calculator.py", "seconds"]
cwd = "{folder}"
"""
QUESTION, NEXT = "What is 15 multiplied by 23?", "Now divide that by 5"
ASKS = r"^Run it\? .*why not: $"
PROMPT = r"^> $"


class Session:
    def __init__(self, agent, folder):
        self.folder = folder
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "AGENT_HOME": str(folder / "home"),
                       "TERM": "screen-256color", "PS1": "$ ", "LANG": "C.UTF-8"}
        (folder / "agent").symlink_to(agent)
        shutil.copy(HERE / "calculator.py", folder)
        spec = SPEC.format(url=os.environ["AGENT_LLAMA_URL"], python=sys.executable, folder=folder)
        (folder / "agent.toml").write_text(spec)
        self.terminal = Terminal(f"agent-{os.getpid()}", folder, environment, COLUMNS)
        self.at = self.terminal.wait(r"^\$ ")

    def takes(self, seconds):
        (self.folder / "seconds").write_text(str(seconds))

    def see(self, pattern):
        self.at = self.terminal.wait(pattern, self.at)

    def glimpse(self, pattern):
        """Of a line that is written anew: what comes next takes its place."""
        self.terminal.wait(pattern, self.at)

    def say(self, line):
        self.terminal.type(line)

    def chat(self, name):
        self.say(f"agent chat --spec agent.toml --session {name}")
        self.see(rf"^agent · local/tiny · session {name}.*/help$")

    def begin_slow_call(self):
        """In a session of its own, up to the line that moves while the tool works."""
        self.see(PROMPT)
        self.say("/new")
        self.see(PROMPT)
        self.say(QUESTION)
        self.see(ASKS)
        self.say("y")
        self.glimpse(r"^[-/|\\] calculator operation=multiply.* s$")

    def a_call_is_asked_about_and_the_answer_shown(self):
        self.takes(0.5)
        self.chat("sums")
        self.see(PROMPT)
        self.say(QUESTION)
        self.see(r"^- calculator operation=multiply a=15 b=23$")
        self.see(ASKS)
        self.say("y")
        self.see(r"^15 multiplied by 23 equals 345\.$")

    def what_is_always_approved_is_not_asked_about_again(self):
        self.see(PROMPT)
        self.say(NEXT)
        self.see(ASKS)
        self.say("always")
        self.see(r"^345 divided by 5 equals 69\.$")
        self.see(PROMPT)
        before = self.at
        self.say("Are you sure?")
        self.see(r"^345 divided by 5 equals 69\.$")
        assert "Run it?" not in self.terminal.shown()[before:self.at]

    def what_is_typed_while_the_model_works_steers_it(self):
        self.takes(3)
        self.begin_slow_call()
        self.say(NEXT)
        self.see(rf"^steer> {NEXT}$")
        self.takes(0.2)
        self.see(ASKS)
        self.say("y")
        self.see(r"^345 divided by 5 equals 69\.$")

    def an_interrupt_aborts_the_run(self):
        self.takes(30)
        self.begin_slow_call()
        self.terminal.key("C-c")
        self.see(r"^aborted$")

    def a_run_goes_on_after_kill_9(self):
        self.see(PROMPT)
        self.say("/quit")
        self.see(r"^\$ ")
        self.takes(30)
        self.chat("killed")
        self.see(PROMPT)
        self.say(QUESTION)
        self.see(ASKS)
        self.say("y")
        self.glimpse(r"^[-/|\\] calculator operation=multiply.* s$")
        found = subprocess.run(["pgrep", "-f", "^agent chat .*--session killed"], capture_output=True, text=True, check=True)
        for process in found.stdout.split():
            os.kill(int(process), signal.SIGKILL)
        self.see(r"Killed$")
        self.terminal.tmux("send-keys", "-t", "main", "stty sane", "Enter")
        self.see(r"^\$ ")
        self.takes(0.2)
        self.chat("killed")
        self.see(r"^The last run was not finished\. Go on with it\? \[Y/n\] $")
        self.say("y")
        self.see(r"^15 multiplied by 23 equals 345\.$")
        self.see(PROMPT)
        self.say("/quit")
        self.see(r"^\$ ")

    def what_is_typed_ahead_is_the_next_line(self):
        self.chat("keys")
        self.see(PROMPT)
        self.terminal.tmux("send-keys", "-t", "main", "-l", "/image\r/image\r")
        for _ in range(2):
            self.see(r"^/image: which file\?$")

    def it_is_stopped_and_goes_on(self):
        self.see(PROMPT)
        self.terminal.key("C-z")
        self.see(r"Stopped")
        self.see(r"^\$ ")
        self.say("fg")
        self.see(PROMPT)
        self.say("/image")
        self.see(r"^/image: which file\?$")
        # It is a key again, not a signal.
        self.see(PROMPT)
        self.terminal.key("C-c")
        self.see(r"^Ctrl-C again, or /quit, leaves$")

    def it_is_stopped_while_a_tool_works(self):
        self.takes(30)
        self.begin_slow_call()
        self.terminal.key("C-z")
        self.see(r"Stopped")
        self.see(r"^\$ ")
        self.say("fg")
        self.glimpse(r"^[-/|\\] calculator operation=multiply.* s$")
        self.say("And then?")
        self.see(r"^steer> And then\?$")
        self.terminal.key("C-c")
        self.see(r"^aborted$")


STEPS = [
    Session.a_call_is_asked_about_and_the_answer_shown,
    Session.what_is_always_approved_is_not_asked_about_again,
    Session.what_is_typed_while_the_model_works_steers_it,
    Session.an_interrupt_aborts_the_run,
    Session.a_run_goes_on_after_kill_9,
    Session.what_is_typed_ahead_is_the_next_line,
    Session.it_is_stopped_and_goes_on,
    Session.it_is_stopped_while_a_tool_works,
]


def main(agent, picture=None):
    if shutil.which("tmux") is None:
        print(f"skipped: tmux is not installed\n0 passed, 0 failed, {len(STEPS)} skipped")
        return 0
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        session = Session(pathlib.Path(agent).resolve(), pathlib.Path(folder))
        try:
            for step in STEPS:
                step(session)
                passed += 1
                print(f"ok {step.__name__}")
                if picture and step is Session.a_run_goes_on_after_kill_9:
                    lines = session.terminal.coloured().rstrip().splitlines()
                    about = "agent chat: a call is approved, a message steers, Ctrl-C aborts, a run goes on after kill -9"
                    pathlib.Path(picture).write_text(drawn(lines, COLUMNS, about))
        except AssertionError as error:
            print(f"FAILED {STEPS[passed].__name__}: {error}")
        finally:
            session.terminal.close()
    # Each step begins where the one before has ended.
    left = len(STEPS) - passed
    print(f"{passed} passed, {min(left, 1)} failed, {max(left - 1, 0)} skipped")
    return bool(left)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
