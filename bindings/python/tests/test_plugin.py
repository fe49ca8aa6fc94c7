"""Plugins, those of examples/plugin, which are compiled here."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_loop import Agent, InvalidArgumentError, InvalidStateError, NotFoundError

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(sys.platform == "win32" or not shutil.which("cc"), reason="needs a C compiler")


def scripted(*answers):
    return {"provider": "scripted", "id": "s", "script": list(answers)}


def call(name, arguments):
    return [{"delta": {"tool_call": {"id": "1", "name": name, "arguments": arguments}}}, {"end": "tool_use"}]


DONE = [{"delta": "Done."}, {"end": "stop"}]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins")

    def build(name):
        path = folder / f"{name}.so"
        command = ["cc", "-shared", "-fPIC", f"-I{ROOT / 'include'}", ROOT / "examples" / "plugin" / f"{name}.c", "-o", path]
        subprocess.run(command, check=True)
        return path

    return build


def results(result):
    return [message.text for message in result.messages if message.role == "tool_result"]


async def test_tools_and_hooks_of_a_plugin_work(plugin):
    script = scripted(call("roll_dice", {"dice": 2}), call("roll_dice", {"dice": 200}), DONE)
    agent = Agent(script, plugins=[plugin("dice")])
    agent.tools = []
    rolled, refused = results(await agent.prompt("Roll."))
    assert rolled.startswith("2 dice: ")
    assert "at most 100 dice" in refused


async def test_a_provider_of_a_plugin_answers(plugin):
    agent = Agent("echo/any", plugins=[str(plugin("echo"))])
    assert (await agent.prompt("Is there an echo?")).text == "Is there an echo?"


async def test_a_subagent_has_the_plugins_of_its_agent(plugin):
    inner = Agent(scripted(call("roll_dice", {"dice": 2}), DONE))
    inner.add_plugin(plugin("dice"))
    outer = Agent(scripted(call("roller", {"prompt": "Roll."}), DONE), tools=[inner.as_tool("roller", "Rolls.")])
    assert results(await outer.prompt("Roll.")) == ["Done."]


def test_what_cannot_be_added_is_explained(plugin, tmp_path):
    agent = Agent(scripted(DONE), before_tool_call=lambda call: None)
    with pytest.raises(InvalidStateError, match="dice.so: it has the hook before_tool_call, which the agent has set already"):
        agent.add_plugin(plugin("dice"))
    with pytest.raises(NotFoundError, match="there is no such file"):
        agent.add_plugin(tmp_path / "none.so")
    with pytest.raises(InvalidArgumentError, match=r"plugin dice.so: a path with a folder is needed"):
        Agent(scripted(DONE), plugins=["dice.so"])
    with pytest.raises(TypeError, match=r"write plugins=\[…\]"):
        Agent(scripted(DONE), plugins="./dice.so")
    with pytest.raises(InvalidArgumentError, match="use add_plugin"):
        agent.set_options(plugins=["./dice.so"])
