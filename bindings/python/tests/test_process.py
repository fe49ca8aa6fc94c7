"""The package in a process: import, threads, forks, other event loops."""

import ast
import asyncio
import gc
import graphlib
import subprocess
import sys
import textwrap
import threading
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import agent_loop
import pytest
from agent_loop import Agent, InvalidStateError, ToolContext, tool
from collection import wait_until_collected
from scripts import agent, calls, events_of, kinds, results, says

SCRIPTED = """
    import asyncio, os, sys, threading
    from agent_loop import Agent, tool

    @tool
    async def where():
        "Where it runs."
        return [os.getpid() == here, threading.current_thread().name]

    def make():
        call = {"delta": {"tool_call": {"name": "where", "arguments": {}}}}
        script = [[call, {"end": {}}], [{"delta": "done"}, {"end": {}}]] * 2
        return Agent({"provider": "scripted", "id": "s", "script": script}, tools=[where])

    here = os.getpid()
"""


def run(program, *options):
    """The output of a program in a new process."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", *options, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    # On a busy machine asyncio's debug mode reports each callback that takes long, such as one that forks.
    errors = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.returncode, errors) == (0, [])
    return done.stdout


def test_importing_the_package_imports_little():
    heavy = "asyncio", "inspect", "dataclasses", "typing_extensions", "concurrent.futures", "json"
    program = f"import sys; import agent_loop; print([name for name in {heavy} if name in sys.modules])"
    assert run(program) == "[]\n"


def test_no_import_circle_between_the_modules():
    def imports(node):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            return
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module] if node.module else [name.name for name in node.names]
        for child in ast.iter_child_nodes(node):
            yield from imports(child)

    files = [file for file in Path(agent_loop.__file__).parent.glob("*.py") if file.stem != "__init__"]
    graph = {file.stem: set(imports(ast.parse(file.read_text()))) for file in files}
    assert graph["bridge"] >= {"errors", "scope"}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_a_program_leaves_nothing_behind():
    program = """
    subject = make()
    async def main():
        async with subject.stream("go") as run:
            return [event.type async for event in run][-1]
    print(asyncio.run(main()), asyncio.run(subject.prompt("again")).text, threading.active_count())
    """
    assert run(textwrap.dedent(SCRIPTED) + textwrap.dedent(program)) == "agent_end done 1\n"


@pytest.mark.parametrize("kind", ["async def", "def"])
@pytest.mark.parametrize("how", ["asyncio.run(subject.prompt('go'))", "subject.prompt_sync('go')"])
def test_found_a_keyboard_interrupt_in_a_tool_goes_on(kind, how):
    program = f"""
    @tool
    {kind} where():
        "Interrupts, as what reads a terminal does."
        raise KeyboardInterrupt

    subject = make()
    seen = []
    subject.subscribe(lambda event: seen.append(event.type))
    try:
        {how}
    except KeyboardInterrupt:
        print("interrupted", subject.messages[-1].role)
    """
    assert run(textwrap.dedent(SCRIPTED) + textwrap.dedent(program)).startswith("interrupted ")


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
def test_after_a_fork_the_child_has_another_runtime():
    program = """
    subject = make()
    print(asyncio.run(subject.prompt("in the parent")).text, flush=True)
    child = os.fork()
    if child == 0:
        here = os.getpid()
        print(asyncio.run(subject.prompt("in the child")).text, asyncio.run(make().prompt("new")).text, flush=True)
        sys.exit()
    print(os.waitpid(child, 0)[1], flush=True)
    print(asyncio.run(subject.prompt("in the parent")).text)
    """
    assert run(textwrap.dedent(SCRIPTED) + textwrap.dedent(program)) == "done\ndone done\n0\ndone\n"


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
def test_a_fork_inside_a_plain_tool():
    program = """
    @tool
    def where():
        "Forks."
        child = os.fork()
        if child == 0:
            print(asyncio.run(make_plain().prompt("in the child")).text, flush=True)
            os._exit(0)
        return os.waitpid(child, 0)[1]

    def make_plain():
        return Agent({"provider": "scripted", "id": "s", "script": [[{"delta": "child"}, {"end": {}}]]})

    result = asyncio.run(make().prompt("go"))
    print([message.text for message in result.messages if message.role == "tool_result"])
    """
    assert run(textwrap.dedent(SCRIPTED) + textwrap.dedent(program)) == "child\n['0']\n"


FORKS = """
    def endless():
        async def provider(request):
            for number in range(1_000_000):
                yield "word "
                await asyncio.sleep(0.001)
            yield "never"

        def answers(request):
            if len(request.messages) > 1:
                return iter(["ok"])
            return provider(request)

        return Agent("own/m", provider=answers)
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
def test_found_a14_an_agent_whose_run_was_active_at_a_fork_is_idle_in_the_child():
    program = """
    subject = endless()

    async def main():
        run = subject.stream("go")
        async for event in run:
            if event.type == "text_delta":
                break
        subject.follow_up("queued")
        child = os.fork()
        if child == 0:
            try:
                in_child(run)
                print("child ended", flush=True)
            except BaseException as error:
                import traceback
                print("child failed", traceback.format_exc(), flush=True)
            os._exit(0)
        await asyncio.to_thread(os.waitpid, child, 0)
        assert subject.is_streaming
        await run.close()
        print((await run.result()).outcome, subject.has_queued_messages())

    def in_child(run):
        assert not subject.is_streaming
        assert subject.error.kind == "aborted" and "the process forked while it was active" in subject.error.message
        assert [message.role for message in subject.messages] == ["user"]
        # What was queued stays with the parent.
        assert subject.streaming_message is None and not subject.has_queued_messages()

        async def again():
            await subject.wait_for_idle()
            # What was not read at the fork can be read, and then it ends.
            assert {event.type async for event in run} <= {"text_delta"}
            result = await run.result()
            assert (result.outcome, result.error.kind) == ("aborted", "aborted"), result
            return (await subject.prompt("in the child")).text

        assert asyncio.run(again()) == "ok"
        assert subject.error is None

    asyncio.run(main())
    """
    output = run(textwrap.dedent(SCRIPTED) + textwrap.dedent(FORKS) + textwrap.dedent(program))
    assert output == "child ended\naborted True\n"


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
def test_found_a14_a_fork_inside_a_tool_of_the_agent_itself():
    program = """
    @tool
    def where():
        "Forks."
        child = os.fork()
        if child == 0:
            try:
                print(asyncio.run(subject.prompt("in the child")).text, flush=True)
            except BaseException as error:
                print(repr(error), flush=True)
            os._exit(0)
        return os.waitpid(child, 0)[1]

    def provider(request):
        yield {"tool_call": {"name": "where", "arguments": {}}} if len(request.messages) == 1 else "done"

    subject = Agent("own/m", provider=provider, tools=[where])
    print(asyncio.run(subject.prompt("go")).text)
    """
    assert run(textwrap.dedent(SCRIPTED) + textwrap.dedent(program)) == "done\ndone\n"


def test_multiprocessing_by_fork():
    program = """
    import multiprocessing
    def work(n):
        return asyncio.run(make().prompt(str(n))).text
    asyncio.run(make().prompt("first, in the parent"))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, range(4)))
    """
    assert run(textwrap.dedent(SCRIPTED) + textwrap.dedent(program)) == "['done', 'done', 'done', 'done']\n"


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at_exit", ["closed", "alive"])
def test_found_a12_a_subinterpreter_is_refused(when, at_exit):
    program = f"""
    import textwrap
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters

    if {when == "after"}:
        import agent_loop
    other = interpreters.create()
    code = '''
    try:
        import agent_loop
    except ImportError as error:
        assert "agent_loop cannot be imported in a subinterpreter; import it in the main one" in str(error), error
    else:
        raise SystemError("it was imported")
    '''
    failed = interpreters.run_string(other, textwrap.dedent(code))
    assert failed is None, failed
    if {at_exit == "closed"}:
        interpreters.destroy(other)
    """
    ends = """
    print(asyncio.run(make().prompt("go")).text, asyncio.run(make().prompt("again")).text)
    """
    assert run(textwrap.dedent(program) + textwrap.dedent(SCRIPTED) + textwrap.dedent(ends)) == "done done\n"


def test_two_loops_in_two_threads():
    together = threading.Barrier(2, timeout=30)

    def work(name):
        @tool
        async def where(context: ToolContext):
            """Where it runs."""
            await asyncio.to_thread(together.wait)
            await context.sleep(5)
            return [threading.current_thread().name, asyncio.get_running_loop() is loop]

        async def main():
            nonlocal loop
            loop = asyncio.get_running_loop()
            return results(await agent(calls("where"), says("done"), tools=[where]).prompt("go"))

        loop = None
        threading.current_thread().name = name
        return asyncio.run(main())

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(work, ["one", "two"]))
    assert answers == [['["one",true]'], ['["two",true]']]


def test_one_agent_on_one_loop_after_the_other():
    subject = agent(*[says("ok")] * 3)
    heard = []
    subject.subscribe(lambda event: heard.append(event.seq))
    for _ in range(3):
        assert asyncio.run(subject.prompt("go")).text == "ok"
    assert heard.count(0) == 3


async def test_state_can_be_read_from_any_thread():
    subject = agent(*[says(*"abc")] * 50)
    stop = threading.Event()
    read = []

    def reader():
        while not stop.is_set():
            state = subject.is_streaming, len(subject.messages), subject.streaming_message, subject.pending_tool_calls
            read.append((*state, subject.error))

    threads = [threading.Thread(target=reader) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        await events_of(subject.stream("go"))
    stop.set()
    for thread in threads:
        thread.join()
    assert read and {error for *_, error in read} == {None}


async def test_a_run_can_be_read_on_another_loop():
    subject = agent(says(*"abc"))
    run = subject.stream("go")
    events = await asyncio.to_thread(asyncio.run, events_of(run))
    assert kinds(events)[-1] == "agent_end"


class WithoutReaders(asyncio.SelectorEventLoop):
    """An event loop that cannot watch a pipe, as Windows' own."""

    def add_reader(self, fd, callback, *args):
        if getattr(callback, "__qualname__", "").startswith("Bridge"):
            raise NotImplementedError
        return super().add_reader(fd, callback, *args)


def test_an_event_loop_that_cannot_watch_a_pipe():
    @tool
    async def where(context: ToolContext):
        """Where it runs."""
        await context.sleep(5)
        return asyncio.get_running_loop() is loop

    @tool
    def plain(context: ToolContext):
        """Off the loop."""
        context.update("half")
        return context.sleep_sync(5)

    async def main():
        subject = agent(calls("where"), calls("plain"), says(*"abc" * 500), tools=[where, plain])
        heard = []
        subject.subscribe(heard.append)
        events = await events_of(subject.stream("go"))
        assert kinds(events) == kinds(heard) and kinds(events)[-1] == "agent_end"
        return [event.result.content[0].text for event in events if event.type == "tool_execution_end"]

    loop = WithoutReaders()
    try:
        assert loop.run_until_complete(main()) == ["true", "true"]
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def test_on_uvloop():
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed; pip install -r requirements-dev.txt")

    @tool
    async def nap(context: ToolContext):
        """Sleeps."""
        await asyncio.sleep(0.001)
        return await context.sleep(5)

    @tool
    def plain():
        """Off the loop."""
        return "plain"

    async def main():
        assert type(asyncio.get_running_loop()).__module__.startswith("uvloop")
        subject = agent(calls("nap"), calls("plain"), says(*"abc" * 500), tools=[nap, plain])
        events = await events_of(subject.stream("go"))
        assert kinds(events)[-1] == "agent_end"
        return [event.result.content[0].text for event in events if event.type == "tool_execution_end"]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # uvloop's own
        assert uvloop.run(main()) == ["true", "plain"]


@pytest.mark.parametrize(
    ("make", "properly"), [(asyncio.new_event_loop, True), (asyncio.new_event_loop, False), (WithoutReaders, True)]
)
def test_closed_loops_are_collected(make, properly):
    subject = agent(*[says("ok")] * 3)
    loop = make()
    loop.run_until_complete(subject.prompt("go"))
    if properly:
        loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    gone = weakref.ref(loop)
    del loop
    wait_until_collected(gone)
    assert asyncio.run(subject.prompt("again")).text == "ok"


def test_a_run_ends_with_the_loop_it_was_started_on():
    @tool
    async def stuck():
        """Never ends."""
        await asyncio.Event().wait()

    async def start():
        run = subject.stream("go")
        async for event in run:
            if event.type == "tool_execution_start":
                return run

    subject = agent(calls("stuck"), says("ok"), tools=[stuck])
    loop = asyncio.new_event_loop()
    run = loop.run_until_complete(start())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()

    async def later():
        await subject.wait_for_idle()
        return await run.result(), (await subject.prompt("again")).text

    result, text = asyncio.run(later())
    assert (result.outcome, results(result), text) == ("aborted", ["aborted"], "ok")


@pytest.mark.parametrize("what", ["transform_context", "after_run", "middleware", "provider"])
def test_callbacks_on_a_loop_end_with_it(what):
    async def stuck(*given):
        reached.append(what)
        await asyncio.Event().wait()

    async def provider(request):
        if what == "provider":
            await stuck()
        yield {"tool_call": {"name": "noop", "arguments": {}}} if len(request.messages) == 1 else "ok"

    @tool
    async def noop():
        """Does nothing."""

    def hook(given, context):
        return stuck()

    options = {what: [stuck] if what == "middleware" else hook} if what != "provider" else {}
    subject, reached = Agent("own/m", provider=provider, tools=[noop], **options), []

    async def start():
        run = subject.stream("go")
        while not reached:
            await asyncio.sleep(0.001)
        return run

    loop = asyncio.new_event_loop()
    # It would report that tasks are still pending, which is intended here.
    loop.set_exception_handler(lambda loop, context: None)
    run = loop.run_until_complete(start())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    # The pending tasks are collected without a warning.
    del loop
    gc.collect()

    async def later():
        await subject.wait_for_idle()
        return await run.result()

    assert asyncio.run(later()).outcome == ("completed" if what == "after_run" else "aborted")


def test_after_the_end_of_a_loop_its_run_cannot_be_waited_for_without_one():
    with pytest.raises(InvalidStateError, match="there is no running event loop here"):
        agent(says("ok")).wait_for_idle().send(None)
