"""Odd callbacks of Python programs: they raise and return what only Python has, and call back into their agent.

    odd.py                       the short form: so many cases
    odd.py --seconds 60          for so long, other cases each time
    odd.py --seed N --case N     one case, as a failure names it

A case is an agent with callbacks that a seed draws. Its runs end, their events are valid, and each call has one result.
"""

import argparse
import asyncio
import collections
import contextlib
import faulthandler
import gc
import logging
import random
import sys
import time
import warnings
from collections.abc import Mapping

from agent_loop import Agent, AgentError, Tool
from agent_loop.testing import check_events

SHORT, SEED = 40, 10
# How long a case may take: far longer than the limits of its runs.
LONGEST = 90
LIMITS = {
    "max_turns": 3, "max_retries": 1, "retry_base_ms": 1, "run_timeout_ms": 1000, "tool_timeout_ms": 300, "abort_grace_ms": 50,
    "listener_timeout_ms": 300, "first_byte_timeout_ms": 500, "idle_timeout_ms": 500,
}
HOOKS = """before_tool_call after_tool_call transform_context convert_to_llm get_api_key on_payload after_run before_run on_error
should_stop_after_turn prepare_next_turn get_steering_messages get_follow_up_messages""".split()
# They are called without an argument.
WITHOUT = {"get_steering_messages", "get_follow_up_messages"}


def fails(*_given):
    raise RuntimeError("on purpose")


# Each of its methods fails.
METHODS = "str repr class eq hash iter len bool getitem contains format int float index await call next get fspath".split()
Hostile = type("Hostile", (), {f"__{name}__": property(fails) if name == "class" else fails for name in METHODS})
HostileError = type("HostileError", (Exception,), {"__str__": fails, "__repr__": fails, "__class__": property(fails)})
HostileText = type("HostileText", (str,), {f"__{name}__": fails for name in ("str", "repr", "len", "eq", "iter", "bool")})
HostileText.__hash__ = str.__hash__
HostileBase = type("HostileBase", (BaseException,), {"__str__": fails})


class Changing(Mapping):
    """A mapping inside a dict that changes the dict while it is read."""

    def __init__(self, outer):
        self.outer = outer

    def __getitem__(self, key):
        self.outer.pop("content", None)
        self.outer[str(len(self.outer))] = self
        return key

    def __iter__(self):
        return iter("ab")

    def __len__(self):
        return 10**9


class WrongAwaitable:
    def __await__(self):
        yield 5


def changing():
    outer = {}
    outer.update(content=Changing(outer), details=Changing(outer))
    return outer


def cyclic():
    value = {"content": []}
    value["content"].append(value)
    return value


def unwilling():
    """A generator that fails when it is closed."""
    try:
        while True:
            yield "part"
    except GeneratorExit:
        raise ValueError("not to be closed") from None


async def unwilling_async():
    try:
        while True:
            yield {"text": "part"}
            await asyncio.sleep(0.01)
    finally:
        raise ValueError("not to be closed")


async def never_awaited():
    return "nobody asked"


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


ODD = [
    Hostile, lambda: Hostile, lambda: [Hostile()], lambda: {"content": Hostile()}, lambda: {Hostile: 1}, lambda: HostileText("t"),
    changing, cyclic, unwilling, unwilling_async, never_awaited, WrongAwaitable, lambda: float("nan"), lambda: [float("-inf")],
    lambda: "\ud800", lambda: {"\udfff": "\ud800"}, lambda: 10**5000, lambda: -(2**64), lambda: b"bytes", lambda: {1, 2},
    lambda: object(), lambda: collections.defaultdict(fails, content=5), lambda: nested(5000), lambda: nested(100), lambda: fails,
    lambda: [{"role": "user"}], lambda: {"content": [{}, None, 5]}, lambda: {"block": Hostile()}, lambda: memoryview(b"x"),
    lambda: {"content": [{"type": "text", "text": HostileText("\ud800")}]}, lambda: NotImplemented, lambda: ..., lambda: 1j,
    lambda: HostileError("an error that is returned"), lambda: [["a", 1]], lambda: iter(fails, None), lambda: None,
    lambda: "fine",
]
RAISED = [
    HostileError, HostileBase, lambda: ValueError("\ud800"), lambda: ValueError(Hostile()), lambda: StopIteration(Hostile()),
    StopAsyncIteration, GeneratorExit, asyncio.CancelledError, RecursionError, MemoryError, lambda: AgentError(Hostile()),
    lambda: ExceptionGroup("many", [ValueError("one")]) if sys.version_info >= (3, 11) else ValueError("one"),
    lambda: TimeoutError(10**5000), lambda: KeyError(float("nan")), lambda: OSError(5, HostileText("x")), lambda: BufferError(),
]


class Case:
    """An agent, and what its callbacks draw."""

    def __init__(self, seed, number):
        self.random = random.Random(f"{seed} {number}")
        self.one_in = self.random.choice([1, 2, 5, 20])
        self.wrong = []
        self.subscriptions = []
        self.agent = None

    def behave(self, sensible=None):
        """What a callback does: raises, calls back, or returns."""
        draw = self.random
        if draw.randrange(self.one_in):
            return sensible
        kind = draw.randrange(4)
        if kind == 0:
            raise draw.choice(RAISED)()
        if kind == 1:
            self.call_back()
            return sensible
        return draw.choice(ODD)()

    async def behave_later(self, sensible=None):
        await asyncio.sleep(self.random.choice([0, 0, 0.002]))
        if self.one_in < 20 and not self.random.randrange(12):
            await self.call_back_later()
        if not self.random.randrange(60):
            await asyncio.sleep(3600)
        return self.behave(sensible)

    def call_back(self):
        agent = self.agent
        act = self.random.choice([
            agent.abort, lambda: agent.steer("from inside"), lambda: agent.follow_up("from inside"), agent.clear_all_queues,
            lambda: agent.steer(self.random.choice(ODD)()), lambda: agent.prompt_sync("from inside"), agent.reset,
            lambda: self.listen(agent), lambda: agent.set_hook("on_error", fails), lambda: agent.set_options(max_turns=1),
            lambda: setattr(agent, "system_prompt", self.random.choice(ODD)()), lambda: repr(agent), lambda: agent.stream("x"),
            lambda: agent.set_options(headers=self.random.choice(ODD)()), lambda: agent.messages, lambda: agent.clear_messages(),
            lambda: agent.append_message(self.random.choice(ODD)()), lambda: self.subscriptions.pop().unsubscribe(), gc.collect,
        ])
        with contextlib.suppress(Exception):
            act()

    async def call_back_later(self):
        act = self.random.choice([lambda: self.agent.prompt("from inside"), self.agent.wait_for_idle, self.agent.resume])
        try:
            await act()
        except AgentError as error:
            if error.kind not in ("busy", "invalid_state"):
                self.wrong.append(f"a call from inside: {error.kind}: {error}")
        else:
            self.wrong.append("a call from inside that would wait for itself does not fail")

    def listen(self, agent):
        if len(self.subscriptions) < 5:
            listener = self.callback()
            self.subscriptions.append(agent.subscribe(listener))

    def callback(self, sensible=None):
        """A function of one argument, of either kind."""
        if self.random.randrange(2):
            return lambda given=None: self.behave(sensible)

        async def later(given=None):
            return await self.behave_later(sensible)

        return later

    def tools(self):
        for name in "abc":
            answer = self.callback("ran")
            prepare = (lambda arguments: self.behave(arguments)) if not self.random.randrange(3) else None
            if asyncio.iscoroutinefunction(answer):

                async def execute(arguments, context, answer=answer):
                    return await answer()
            else:

                def execute(arguments, context, answer=answer):
                    return answer()

            yield Tool(name=name, description="A tool.", execute=execute, prepare_arguments=prepare)

    def middleware(self):
        async def around(call, next):
            if self.random.randrange(3):
                await next()
            return await self.behave_later("around")

        return around

    def provider(self):
        async def later(request, context=None):
            for chunk in self.chunks():
                yield chunk
                await asyncio.sleep(0)

        def plain(request):
            yield from self.chunks()

        odd = self.random.choice([lambda request: unwilling_async(), lambda request: unwilling(), lambda request: self.behave()])
        return self.random.choice([later, plain, odd])

    def chunks(self):
        for number in range(self.random.randrange(4)):
            call = {"tool_call": {"id": f"c{number}", "name": self.random.choice("abcd"), "arguments": {}}}
            yield self.behave(self.random.choice([call, "It rains.", {"text": "It rains."}]))

    def make(self):
        calls = [{"delta": {"tool_call": {"id": f"c{n}", "name": self.random.choice("abcd"), "arguments": {}}}} for n in range(3)]
        script = [[*calls, {"end": {}}], [*calls[:1], {"end": {}}], [{"delta": "It rains."}, {"end": {}}]] * 3
        options = dict(LIMITS, tools=list(self.tools()))
        if not self.random.randrange(3):
            options["provider"] = self.provider()
        if self.random.randrange(2):
            options["middleware"] = [self.middleware()]
        for hook in HOOKS:
            if not self.random.randrange(4):
                function = self.callback()
                options[hook] = (lambda function=function: function()) if hook in WITHOUT else function
        self.agent = Agent({"provider": "scripted", "id": "s", "script": script}, **options)
        self.listen(self.agent)

    async def run(self):
        """One run, in one of the ways there are."""
        kind = self.random.randrange(5)
        if kind == 0:
            with contextlib.suppress(AgentError):
                await self.agent.prompt("go")
        elif kind == 1:
            with contextlib.suppress(AgentError):
                await asyncio.to_thread(self.agent.prompt_sync, "go")
        elif kind == 2:
            task = asyncio.ensure_future(self.agent.prompt("go"))
            await asyncio.sleep(0.003)
            task.cancel()
            with contextlib.suppress(AgentError, asyncio.CancelledError):
                await task
        else:
            events = []
            leaves = self.random.randrange(1, 30) if kind == 3 else None
            with contextlib.suppress(AgentError):
                async with self.agent.stream("go") as run:
                    async for event in run:
                        events.append(event)
                        if len(events) == leaves:
                            break
            if kind == 4:
                check_events(events)
        await self.agent.wait_for_idle()

    async def play(self):
        self.make()
        for _ in range(2):
            await self.run()
        if self.agent.is_streaming:
            self.wrong.append("the agent is busy after its runs")
        calls, results = collections.Counter(), collections.Counter()
        for message in (message.to_dict() for message in self.agent.messages):
            if message["role"] == "assistant":
                calls.update(block["id"] for block in message["content"] if block["type"] == "tool_call")
            elif message["role"] == "tool_result":
                results[message["tool_call_id"]] += 1
        if calls != results:
            self.wrong.append(f"calls {dict(calls)}, results {dict(results)}")
        # What is written can be read back.
        Agent({"provider": "scripted", "id": "s", "script": []}, messages=[message.to_dict() for message in self.agent.messages])


async def play(seed, number):
    """What is wrong with a case."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    case = Case(seed, number)
    try:
        await case.play()
    except Exception as error:
        case.wrong.append(f"{type(error).__name__}: {error}")
    finally:
        faulthandler.cancel_dump_traceback_later()
    return case.wrong


async def main():
    parser = argparse.ArgumentParser()
    for name in ("seed", "case", "seconds"):
        parser.add_argument(f"--{name}", type=int)
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else int(time.time()) if asked.seconds else SEED
    print(f"odd.py: --seed {seed}", flush=True)
    # What a callback leaves behind is its own affair.
    logging.getLogger("asyncio").disabled = True
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda unraisable: None
    start, number, failed = time.monotonic(), asked.case or 0, 0
    last = number + 1 if asked.case is not None else SHORT
    while time.monotonic() - start < asked.seconds if asked.seconds else number < last:
        if wrong := await play(seed, number):
            failed += 1
            print(f"FAILED: odd.py --seed {seed} --case {number}: " + "\n".join(wrong), flush=True)
        number += 1
    print(f"played {number - (asked.case or 0)} cases of odd callbacks in {time.monotonic() - start:.1f} s")
    print(f"{int(not failed)} passed, {int(bool(failed))} failed, 0 skipped")
    return failed


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main()) else 0)
