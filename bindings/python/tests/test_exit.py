"""Interpreter exit and Ctrl-C with a run or a tool in flight: neither hangs nor crashes."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mock import chat, mock

TIMES = 20
WHAT = ["async", "plain", "sleep", "listener", "stream"]
PROGRAM = Path(__file__).with_name("exit_program.py")


def spoken(*arguments, interrupt=False):
    """How the program ended, and what it wrote on stderr."""
    command = [sys.executable, "-X", "dev", PROGRAM, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "in flight\n", process.stderr.read()
        if interrupt:
            process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, errors


def often(many, **options):
    """How each of the programs ended."""
    with ThreadPoolExecutor(10) as threads:
        return list(threads.map(lambda arguments: spoken(*arguments, **options), many))


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A model server: with tools, a call; without, the beginning of an answer, and then silence."""
    call = chat({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "sleeping", "arguments": "{}"}}]}, end="tool_calls")
    text = chat({"content": "so far"}, {"content": " so good"})
    answers = [
        {"when": {"method": "POST", "tools": True}, "body": call},
        {"when": {"method": "POST"}, "body": text, "chunk": "frame", "cut_after": text.index("\n\n") + 2, "stall": True},
    ]
    with mock(tmp_path_factory.mktemp("server"), *answers) as url:
        yield url


@pytest.mark.parametrize("how", ["return", "exit", "raise", "stop", "daemon"])
def test_exit_with_a_run_in_flight(how, url):
    """Twenty times, with all that can be in flight in turn."""
    programs = [(how, WHAT[n % len(WHAT)], url) for n in range(TIMES)]
    for program, (code, errors) in zip(programs, often(programs), strict=True):
        assert code == 0, (program, errors)
        assert is_quiet(errors), (program, errors)


@pytest.mark.parametrize("what", ["async", "plain"])
@pytest.mark.parametrize(("how", "output"), [("resumed", "resumed\n"), ("serve", "resumed\n"), ("hang", "")])
def test_exit_waits_for_daemon_threads_that_it_wakes(how, output, what):
    """But not for ever. The interpreter's end would find them at work, which has crashed it."""
    command = [sys.executable, "-X", "dev", PROGRAM, how, what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "in flight\n" + output), done.stderr
    assert is_quiet(done.stderr), done.stderr


def is_quiet(errors):
    """Whether Python says no more than that a loop and its tasks were left as they were."""
    return not any(word in errors for word in ("Error", "Fatal", "panicked", "never awaited", "Exception ignored"))


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("how", ["stay", "sync"])
def test_ctrl_c_with_a_run_in_flight(how, what, url):
    for code, errors in often([(how, what, url)] * TIMES, interrupt=True):
        assert code == -signal.SIGINT, errors
        assert errors.rstrip().endswith("KeyboardInterrupt"), errors


@pytest.mark.parametrize("how", ["stay", "sync"])
def test_ctrl_c_that_another_thread_gets_wakes_the_loop(how):
    code, errors = spoken(how, "signal")
    assert code == -signal.SIGINT, errors
    assert errors.rstrip().endswith("KeyboardInterrupt"), errors
