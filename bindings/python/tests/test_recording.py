"""Recorded runs: played again, with recorded answers, and the pytest plugin."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from agent_loop import (
    Agent,
    AgentIOError,
    AuthenticationError,
    DamagedError,
    InvalidArgumentError,
    InvalidStateError,
    NewerVersionError,
    ReplayError,
    replay,
    tool,
)
from mock import chat, mock
from scripts import agent, calls, events_of, says

ran = []


@tool
async def find(at: str = "") -> str:
    """Finds something."""
    ran.append(at)
    return "found"


def written(events):
    return [event.to_json() for event in events]


async def recorded(file, *answers, **options):
    """The events of a run of an agent with these answers."""
    return written(await events_of(agent(*answers, tools=[find], record=file, **options).stream("go")))


async def test_a_recorded_run_is_played_again(tmp_path):
    file = tmp_path / "runs.jsonl"
    ran.clear()
    first = await recorded(file, calls("find", at="x"), says("Do", "ne."))
    second = await recorded({"path": file, "frames": True}, says("Again."))
    assert written(await events_of(replay(file))) == first
    played = replay(str(file), run=2)
    assert written(await events_of(played)) == second
    assert (await played.result()).text == "Again."
    assert ran == ["x"]


async def test_a_run_that_is_played_takes_no_messages_and_can_be_left(tmp_path):
    file = tmp_path / "runs.jsonl"
    # More events than a run's queue holds: it is not over before they are read.
    await recorded(file, says(*["x"] * 3000))
    async with replay(file) as run:
        async for _ in run:
            with pytest.raises(InvalidStateError, match="as it was recorded"):
                run.steer("no")
            break
    assert (await run.result()).outcome == "aborted"


async def test_tools_run_with_recorded_answers(tmp_path):
    file = tmp_path / "runs.jsonl"
    first = await recorded(file, calls("find", at="x"), says("Done."))
    ran.clear()
    subject = agent(tools=[find], replay={"path": file, "run": 1})
    assert written(await events_of(subject.stream("go"))) == first
    assert ran == ["x"]
    with pytest.raises(ReplayError, match=r"runs\.jsonl: it has no further run"):
        await subject.prompt("go")


async def test_the_first_difference_is_shown(tmp_path):
    file = tmp_path / "runs.jsonl"
    await recorded(file, calls("find", at="x"), says("Done."))

    @tool(name="find")
    async def other(at: str = "") -> str:
        """Finds something."""
        return "found nothing"

    async def difference(prompt="go", **options):
        with pytest.raises(ReplayError) as caught:
            await agent(**{"tools": [find], "replay": str(file)} | options).prompt(prompt)
        assert (caught.value.kind, caught.value.retryable) == ("replay", False)
        assert str(caught.value).startswith(f"the recording {file}: line ")
        return str(caught.value)

    assert 'request.messages[0].content[0].text is "stop", and was recorded as "go"' in await difference("stop")
    changed = 'request.messages[2].content[0].text is "found nothing", and was recorded as "found"'
    assert changed in await difference(tools=[other])
    # Left over, and missing.
    assert "the run has ended, and request 2 of run 1 was recorded and not made" in await difference(max_turns=1)
    more = iter([[{"role": "user", "content": "more"}]])
    missing = await difference(get_follow_up_messages=lambda context: next(more, []))
    assert "request 3 (to scripted/scenario) was not recorded: run 1 has 2 of them" in missing


async def test_over_http_and_without_its_server(tmp_path):
    file = tmp_path / "runs.jsonl"
    body = chat({"role": "assistant", "content": "It "}, {"content": "rains."})
    refused = {"status": 401, "body": {"json": {"error": {"message": "no: sk-secret", "type": "sk-header"}}}}
    options = dict(api_key="sk-secret", headers={"x-key": "sk-header"}, system_prompt="Be brief.")
    with mock(tmp_path, {"body": body}, refused) as url:
        spec = {"provider": "openai", "id": "tiny", "protocol": "openai_chat", "base_url": url}
        subject = Agent(spec, record={"path": str(file), "frames": True}, **options)
        first = written(await events_of(subject.stream("Rain?")))
        with pytest.raises(AuthenticationError):
            await subject.prompt("Snow?")
    text = file.read_text()
    assert "sk-" not in text and "[key]" in text and "Be brief." in text
    assert sum("frame" in json.loads(line) for line in text.splitlines()) > 2
    # The server is gone, and there is no key.
    assert written(await events_of(replay(file))) == first
    with pytest.raises(AuthenticationError, match=r"no: \[key\]"):
        await replay(file, 2).result()
    subject = Agent(spec, system_prompt="Be brief.", replay=file)
    assert (await subject.prompt("Rain?")).text == "It rains."
    with pytest.raises(ReplayError, match=r'body.messages\[0\].content is "Be kind.", and was recorded as "Be brief."'):
        await Agent(spec, system_prompt="Be kind.", replay=file).prompt("Rain?")


async def test_what_cannot_be_played(tmp_path):
    file = tmp_path / "runs.jsonl"
    with pytest.raises(AgentIOError, match="record it first, with the option record"):
        replay(file)
    await recorded(file, says("Done."))
    text = file.read_text()
    for wrong, error, why in [
        ("[]\n", DamagedError, "line 1: this is no recording"),
        (text[: text.index("\n") + 10], DamagedError, "line 2: it cannot be read (it ends too early)"),
        (text[: text.rindex('{"end"')], DamagedError, "the run 1 begins in line 1 and has no end"),
        (text.replace(":1,", ":2,", 1), NewerVersionError, "line 1: the run has version 2, of a newer agent-loop"),
    ]:
        file.write_text(wrong)
        with pytest.raises(error) as caught:
            replay(file)
        assert str(caught.value).startswith(f"replay: the recording {file}: ") and why in str(caught.value)
        with pytest.raises(error):
            await agent(replay=file).prompt("go")
    file.write_text(text)
    for run in (0, 2):
        with pytest.raises(InvalidArgumentError, match=rf"has 1 run, and run {run} is asked for"):
            replay(file, run)
    with pytest.raises(ValueError, match="run: expected a whole number of at least 0, got -1"):
        replay(file, -1)
    with pytest.raises(TypeError, match="run: expected a whole number of at least 0, got str"):
        replay(file, "1")
    with pytest.raises(TypeError, match=r"recording: expected a str or an os\.PathLike, got int"):
        replay(5)
    with pytest.raises(InvalidArgumentError, match='option "record": expected the path of a file'):
        agent(record=5)
    with pytest.raises(InvalidArgumentError, match='unknown field of record "frame"'):
        agent(record={"path": file, "frame": True})
    with pytest.raises(TypeError, match='option "replay"'):
        agent(replay=b"runs.jsonl")
    with pytest.raises(TypeError, match='option "system_prompt"'):
        agent(system_prompt=file)
    with pytest.raises(AgentIOError, match="its folder does not exist"):
        await agent(says("x"), record=tmp_path / "none" / "runs.jsonl").prompt("go")


# ---- the pytest plugin ------------------------------------------------------------------------------------------------------

TEST = """
import asyncio
import json

import pytest
from agent_loop import Agent

MODEL = json.loads({model!r})


class TestRain:
    @pytest.mark.parametrize("city", ["Oslo", "a/b::c"])
    def test_in(self, agent_recording, city):
        async def text(prompt):
            return (await Agent(MODEL, **agent_recording).prompt(prompt)).text

        assert asyncio.run(text(f"{prompt} in {{city}}?")) == "It rains."
        # Another agent of the test has its run in the same file.
        assert asyncio.run(text("Snow?")) == "It rains."
"""


class Project:
    """A folder with a test, which is run in a process of its own."""

    def __init__(self, folder):
        self.folder = folder / "project"
        self.recordings = self.folder / "tests/recordings"
        self.recordings.parent.mkdir(parents=True)
        (self.folder / "pytest.ini").write_text("[pytest]\n")

    def write(self, url, prompt="Rain"):
        model = {"provider": "openai", "id": "tiny", "protocol": "openai_chat", "base_url": url}
        text = TEST.format(model=json.dumps(model), prompt=prompt)
        (self.folder / "tests/test_rain.py").write_text(text)

    def run(self, *arguments, **environment):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        known = {name: value for name, value in os.environ.items() if name not in ("AGENT_LOOP_RECORD", "OPENAI_API_KEY")}
        ended = subprocess.run(
            command, cwd=self.folder, env=known | environment, capture_output=True, text=True, timeout=120, check=False
        )
        return ended.returncode, ended.stdout


NOWHERE = "http://127.0.0.1:9"
RAINS = {"body": chat({"role": "assistant", "content": "It rains."}), "times": 99}


def test_the_fixture_records_and_replays(tmp_path):
    project = Project(tmp_path)
    project.write(NOWHERE)
    code, output = project.run()
    assert code == 1 and "there is no recording" in output and "run the test with pytest --agent-record" in output
    assert not project.recordings.exists()

    with mock(tmp_path, RAINS) as url:
        project.write(url)
        code, output = project.run("--agent-record")
    assert code == 0, output
    files = {file.name: file.read_bytes() for file in project.recordings.iterdir()}
    assert len(files) == 2 and all(name.startswith("test_rain.TestRain.test_in-") for name in files)
    assert [text.count(b"agent_loop_recording") for text in files.values()] == [2, 2]

    # The server is gone.
    project.write(NOWHERE)
    code, output = project.run(AGENT_LOOP_RECORD="0")
    assert code == 0, output
    assert {file.name: file.read_bytes() for file in project.recordings.iterdir()} == files
    project.write(NOWHERE, prompt="Hail")
    code, output = project.run("-k", "Oslo")
    assert code == 1 and 'is "Hail in Oslo?", and was recorded as "Rain in Oslo?"' in output


IDS = """
import pytest


@pytest.mark.parametrize("city", ["Oslo", "a/b", "a::b", "a.b", "../b", "Ås", "日本", "x" * 300, "x" * 300 + "y", "a b", 'a"b', ""])
@pytest.mark.parametrize("day", ["a-b", "c"])
def test_in(agent_recording, city, day):
    pass
"""


def test_each_test_has_a_file_of_its_own(tmp_path):
    project = Project(tmp_path)
    project.recordings.mkdir()
    (project.folder / "tests/test_ids.py").write_text(IDS, encoding="utf-8")
    code, output = project.run("-rE", COLUMNS="2000")
    names = re.findall(r"there is no recording (.*?\.jsonl): run the test", output)
    assert code == 1 and "24 errors" in output
    files = {pathlib.Path(name) for name in names}
    assert len({file.name for file in files}) == 24, files
    for file in files:
        assert file.parent == project.recordings and len(file.name.encode()) < 200
        assert re.fullmatch(r"test_ids\.test_in-[\w.-]+-[0-9a-f]{8}\.jsonl", file.name), file.name


def test_the_fixture_records_anew(tmp_path):
    project = Project(tmp_path)
    for prompt in ("Rain", "Hail"):
        with mock(tmp_path, RAINS) as url:
            project.write(url, prompt=prompt)
            code, output = project.run("-k", "Oslo", AGENT_LOOP_RECORD="1")
        assert code == 0, output
    (file,) = project.recordings.iterdir()
    text = file.read_text()
    assert text.count("agent_loop_recording") == 2 and "Hail in Oslo?" in text and "Rain in Oslo?" not in text
    # The other test has none.
    code, output = project.run()
    assert code == 1 and "1 passed, 1 error" in output
