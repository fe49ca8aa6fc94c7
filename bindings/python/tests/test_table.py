"""The types of the package have every row of the table. The module's own lists come from the same rows by another way."""

import agent_loop
from agent_loop import DIAGNOSTIC_CODES, LOG_CODES, LOSS_CODES, REPAIR_CODES, _native
from agent_loop.hooks import WITHOUT_INPUT
from agent_loop.options import AgentOptions


def test_each_option_and_each_hook_is_an_option_of_agents():
    by_hand = {"tools", "session", "middleware", "provider", "providers", "plugins", "deps"}
    expected = {*_native.OPTIONS, *_native.HOOKS, *by_hand} - {"model"}
    assert set(AgentOptions.__annotations__) == expected
    assert set(WITHOUT_INPUT) < set(_native.HOOKS)


def test_each_class_of_events_is_exported():
    def leaves(base):
        return {leaf for one in base.__subclasses__() for leaf in leaves(one)} or {base}

    classes = leaves(agent_loop.Event)
    assert len(classes) > 20
    for each in classes:
        assert getattr(agent_loop, each.__name__) is each


def test_codes_are_words():
    for codes in (DIAGNOSTIC_CODES, LOG_CODES, LOSS_CODES, REPAIR_CODES):
        assert len(codes) > 10
        assert all(code.replace("_", "").isalnum() and code == code.lower() for code in codes)
