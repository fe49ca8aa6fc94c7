"""Scripts for the scripted model, in a few words."""

import contextlib
import json
from pathlib import Path

from agent_loop import Agent, AgentError

ROOT = Path(__file__).resolve().parents[3]
CALCULATOR = json.loads((ROOT / "tests/scenarios/calculator/model.json").read_text())
END = {"end": {}}


def says(*pieces):
    """An answer of text, a delta for each piece."""
    return [*({"delta": piece} for piece in pieces), END]


def calls(name, *many, **arguments):
    """An answer with a tool call, or one for each of `many` dicts of arguments."""
    steps = [
        {"delta": {"tool_call": {"id": f"call_{n}", "name": name, "arguments": a}}} for n, a in enumerate(many or [arguments])
    ]
    return [*steps, END]


def waits(ms):
    """A step: the model is silent."""
    return {"wait_ms": ms}


def fails(kind, message):
    """An answer that fails."""
    return [{"error": {"kind": kind, "message": message}}]


def scripted(*answers):
    return {"provider": "scripted", "id": "scenario", "script": list(answers)}


def agent(*answers, **options):
    return Agent(scripted(*answers), **options)


async def events_of(run):
    """All events, also of a run that fails."""
    events = []
    async with run:
        with contextlib.suppress(AgentError):
            async for event in run:
                events.append(event)
    return events


def kinds(events):
    return [event.type for event in events]


def results(outcome):
    """The texts of a run's tool results."""
    return [message.text for message in outcome.messages if message.role == "tool_result"]


async def answer_of(made, *, name=None, **arguments):
    """The text and error flag of one call's result."""
    subject = agent(calls(name or made.name, **arguments), says("done"), tools=[made])
    (message,) = [message for message in (await subject.prompt("go")).messages if message.role == "tool_result"]
    return message.text, message.is_error
