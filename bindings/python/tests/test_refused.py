"""Changes that are refused: they change nothing."""

import agent_loop
import pytest
from agent_loop import InvalidArgumentError, tool
from scripts import Agent, says, scripted


@tool
async def known():
    """Known."""


async def test_found_e18_a_refused_change_changes_nothing():
    agent = Agent(scripted(says("One.")), tools=[known], system_prompt="Be brief.")
    agent.set_options(model={**scripted(says("Two."), says("Three.")), "id": "second"})

    def change(name, value):
        return lambda: setattr(agent, name, value)

    def state():
        return agent.model, agent.system_prompt, agent.thinking_level, agent.tools, agent.messages

    before = state()
    for refused in [
        change("model", "nobody/x"),
        change("model", "no-slash"),
        change("model", {"provider": "scripted", "id": "x"}),
        change("model", {"provider": "openai", "id": "x", "cost": {"inptu": 1}}),
        change("thinking_level", "immense"),
        change("tools", [known, known]),
        lambda: agent.set_options(model="nobody/x", system_prompt="Be rude."),
        lambda: agent.set_options(system_prompt="Be rude.", fallbacks=["nobody/x"]),
        lambda: agent.set_options(system_prompt="Be rude.", max_turns="many"),
        lambda: agent.set_options(system_prompt="Be rude.", model="ollama/x", base_url="no address"),
        lambda: agent.set_hook("no_such_hook", None),
        lambda: agent.replace_messages([{"role": "user", "content": "x"}, {"role": "user", "content": 1}]),
        lambda: agent.append_messages([{"role": "user", "content": "x"}, {"content": "x"}]),
    ]:
        with pytest.raises(InvalidArgumentError):
            refused()
        assert state() == before
    for refused in [change("system_prompt", object()), change("tools", [known, 5]), change("model", object())]:
        with pytest.raises(TypeError):
            refused()
        assert state() == before
    with pytest.raises(TypeError):
        agent.set_hook("before_tool_call", lambda: None)
    assert (await agent.prompt("hi")).text == "Two."
    with pytest.raises(InvalidArgumentError):
        agent.model = "nobody/x"
    assert agent.model == "scripted/second"
    assert (await agent.prompt("hi")).text == "Three."


def test_found_e18_what_an_agent_cannot_be_made_with_is_refused():
    for model in ["nobody/x", "x", {"provider": "nobody", "id": "x"}, {"provider": "scripted", "id": "x", "script": 1}]:
        with pytest.raises(InvalidArgumentError):
            agent_loop.Agent(model)


@pytest.mark.parametrize(("given", "got"), [(known, "a Tool"), (5, "an int"), ("known", "a str"), ({"known": known}, "a dict")])
def test_tools_are_a_list(given, got):
    text = f'option "tools": expected a list of tools, got {got}; write tools=[…]'
    subject = Agent(scripted(says("One.")))

    def change():
        subject.tools = given

    for give in (lambda: Agent(scripted(says("One.")), tools=given), change):
        with pytest.raises(TypeError) as caught:
            give()
        assert str(caught.value) == text
    assert subject.tools == ()
