"""Whatever a callback raises or returns becomes the error of its call: no run hangs, nothing ends the process."""

import asyncio
import collections
import random
from collections.abc import Mapping

import pytest
from agent_loop import Agent, AgentError, CallbackError, ProviderError, Tool
from scripts import calls, says, scripted

# ---- odd exceptions ----


class NoText(Exception):
    def __str__(self):
        raise ValueError("no text")


class NoClass(Exception):
    @property
    def __class__(self):
        raise RuntimeError("no class")


class NoName(type):
    @property
    def __name__(cls):
        raise RuntimeError("no name")


class Nameless(Exception, metaclass=NoName):
    def __str__(self):
        raise KeyboardInterrupt


class OddText(str):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __format__ = __bool__ = __len__ = encode = __str__


class OddMessage(Exception):
    def __str__(self):
        return OddText("odd")


class BeyondException(BaseException):
    pass


def changed(error, **fields):
    error.__dict__.update(fields)
    return error


EXCEPTIONS = {
    "a str that raises": NoText,
    "a str that is no str": type("Wrong", (Exception,), {"__str__": lambda self: 5}),
    "a class that raises": NoClass,
    "a name that raises": Nameless,
    "a text of another class": OddMessage,
    "an unpaired surrogate": lambda: ValueError("\ud800"),
    "a null character": lambda: ValueError("a\0b"),
    "a message that is no text": lambda: changed(CallbackError("x"), message=object()),
    "a message that raises": lambda: changed(CallbackError("x"), message=OddText("x")),
    "an error with other fields": lambda: changed(ProviderError("x"), message=NoText(), http_status={1}, retryable="maybe"),
    "StopIteration": lambda: StopIteration(5),
    "StopAsyncIteration": StopAsyncIteration,
    "GeneratorExit": GeneratorExit,
    "CancelledError": asyncio.CancelledError,
    "no Exception": BeyondException,
    "recursion": RecursionError,
}

# ---- odd answers ----


class Odd:
    @property
    def __class__(self):
        raise RuntimeError("no class")


class OddMapping(Mapping):
    """A mapping whose code is called while it is read."""

    def __init__(self, on_read):
        self.on_read = on_read

    def __getitem__(self, key):
        return self.on_read()

    def __iter__(self):
        return iter(["a", "b"])

    def __len__(self):
        return 1_000_000


def raises():
    raise RuntimeError("not to be read")


def changing(kind):
    """A dict or a list that changes while it is read."""
    outer = {} if kind is dict else []

    def change():
        if kind is dict:
            outer.update({str(len(outer)): 1})
            outer.pop("first", None)
        else:
            outer.append(1)
            del outer[:2]
        return 1

    inner = [OddMapping(change) for _ in range(4)]
    outer.update({"first": inner[0], "second": inner[1]}) if kind is dict else outer.extend(inner)
    return outer


def inside_itself(kind):
    value = {} if kind is dict else []
    value.update(a=value) if kind is dict else value.append(value)
    return value


def doubling():
    value = [1]
    for _ in range(60):
        value = [value, value]
    return value


class OddAwaitable:
    def __await__(self):
        raise RuntimeError("not to be awaited")


class WrongAwaitable:
    def __await__(self):
        return iter([5])


class EndlessItems(list):
    def __iter__(self):
        while True:
            yield 1


ANSWERS = {
    "a class that raises": Odd,
    "a dict of that": lambda: {"content": Odd()},
    "a mapping that raises": lambda: OddMapping(raises),
    "a mapping with odd items": lambda: type("M", (OddMapping,), {"items": lambda self: [1, (2,), "ab"]})(raises),
    "a mapping with items of None": lambda: type("M", (OddMapping,), {"items": lambda self: None})(raises),
    "a dict that changes": lambda: changing(dict),
    "a list that changes": lambda: changing(list),
    "a list that contains itself": lambda: inside_itself(list),
    "a dict that contains itself": lambda: inside_itself(dict),
    "a list that doubles": doubling,
    "a list of odd iteration": lambda: EndlessItems([1]),
    "a subclass of dict": lambda: collections.defaultdict(raises, a=1),
    "an unpaired surrogate": lambda: "\ud800",
    "a key of that": lambda: {"\udfff": 1},
    "an odd text": lambda: {"text": OddText("odd"), OddText("key"): 1},
    "an odd text with a surrogate": lambda: OddText("\ud800"),
    "a huge integer": lambda: 10**5000,
    "not a number": lambda: [float("nan"), float("-inf")],
    "an odd key": lambda: {NoText(): 1},
    "a class": lambda: int,
    "a generator": lambda: (n for n in range(3)),
    "an awaitable that raises": OddAwaitable,
    "an awaitable of something else": WrongAwaitable,
    "half a message": lambda: [{"role": "user"}],
    "blocks of nothing": lambda: {"content": [{}, None, 5]},
    "a deep list": lambda: eval("[" * 90 + "]" * 90),
}

HOOKS = """before_tool_call after_tool_call transform_context get_api_key on_payload after_run before_run should_stop_after_turn
prepare_next_turn get_steering_messages on_error""".split()
PLACES = ["tool", "plain tool", "prepare", "middleware", "listener", "provider", "plain provider", *(
    f"{how}{hook}"
    for how in ("", "async ")
    for hook in HOOKS
)]


def agent_with(place, behave):
    """An agent with an odd callback, whose run calls it at least once where it calls it at all."""

    def plain(*given):
        return behave()

    async def later(*given):
        await asyncio.sleep(0)
        return behave()

    async def noop(arguments, context):
        return "done"

    async def chunks(request):
        yield behave()

    def plain_chunks(request):
        yield behave()

    tool = {
        "tool": lambda: Tool(name="t", execute=later),
        "plain tool": lambda: Tool(name="t", execute=plain),
        "prepare": lambda: Tool(name="t", execute=noop, prepare_arguments=lambda arguments: behave()),
    }.get(place, lambda: Tool(name="t", execute=noop))()
    options = {}
    if "provider" in place:
        options["provider"] = plain_chunks if place.startswith("plain") else chunks
    elif place == "middleware":
        options["middleware"] = [lambda call, next: behave()]
    elif place not in ("tool", "plain tool", "prepare", "listener"):
        hook = place.removeprefix("async ")
        function = later if place.startswith("async") else plain
        options[hook] = (lambda: function()) if hook == "get_steering_messages" else (lambda given: function())
    subject = Agent(scripted(calls("t"), says("ok")), tools=[tool], max_retries=0, max_turns=3, **options)
    if place == "listener":
        subject.subscribe(lambda event: behave() if event.type == "turn_start" else None)
    return subject


async def outcome_of(subject):
    try:
        return (await asyncio.wait_for(subject.prompt("go"), 30)).outcome
    except AgentError as error:
        return error.result.outcome


@pytest.fixture
def unheard(request):
    """The event loop reports what is no `Exception`, and goes on."""

    def quiet():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)

    return quiet


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("place", PLACES)
async def test_found_a4_odd_exceptions(place, unheard):
    unheard()
    for name, make in EXCEPTIONS.items():

        def behave(make=make):
            raise make()

        assert await outcome_of(agent_with(place, behave)) in ("completed", "error"), name


@pytest.mark.parametrize("place", PLACES)
async def test_found_a4_odd_answers(place, unheard):
    unheard()
    for name, make in ANSWERS.items():
        outcome = await outcome_of(agent_with(place, make))
        assert outcome in ("completed", "error", "stopped", "max_turns"), name


def random_value(numbers, depth=0):
    """JSON with odd values in odd places."""
    kind = numbers.randrange(8 if depth < 5 else 4)
    if kind < 2:
        odd = numbers.random() < 0.3
        return numbers.choice(list(ANSWERS.values()))() if odd else numbers.choice([None, True, 1, -2.5, "x", ""])
    if kind < 4:
        return numbers.choice(["text", "user", "content", "role", 0, 2**63, 1e308])
    if kind < 6:
        return [random_value(numbers, depth + 1) for _ in range(numbers.randrange(4))]
    keys = ["content", "type", "text", "role", "details", "is_error", "terminate", "block", "reason", "arguments", "messages"]
    return {numbers.choice(keys): random_value(numbers, depth + 1) for _ in range(numbers.randrange(4))}


async def test_found_a4_random_answers(unheard):
    unheard()
    numbers = random.Random(4)
    places = [place for place in PLACES if place != "listener"]
    for _ in range(300):
        place = numbers.choice(places)
        value = random_value(numbers)
        outcome = await outcome_of(agent_with(place, lambda value=value: value))
        assert outcome in ("completed", "error", "stopped", "max_turns"), place


async def test_found_a4_the_texts_of_errors():
    for error, text in [
        (NoText, "NoText, whose text cannot be read"),
        (OddMessage, "OddMessage: odd"),
        (lambda: changed(CallbackError("x"), message=object()), "CallbackError, whose text cannot be read"),
        (lambda: CallbackError("alone"), "alone"),
        (lambda: ValueError("\ud800"), "ValueError: \ufffd"),
    ]:

        def behave(error=error):
            raise error()

        (result,) = [m for m in (await agent_with("tool", behave).prompt("go")).messages if m.role == "tool_result"]
        assert (result.text, result.is_error) == (text, True)
    for answer, text in [
        (Odd, "RuntimeError: no class"),
        (lambda: OddMapping(raises), "RuntimeError: not to be read"),
        (doubling, "ValueError: the tool's result: it is too large"),
    ]:
        (result,) = [m for m in (await agent_with("tool", answer).prompt("go")).messages if m.role == "tool_result"]
        assert (result.text, result.is_error) == (text, True)
