"""Stores that are objects of the program."""

import asyncio
import gc
import threading
import weakref

import pytest
from agent_loop import AgentIOError, BusyError, DamagedError, NotFoundError, Store
from stores import Lists, said, texts


def test_a_custom_store_must_have_all_methods():
    with pytest.raises(TypeError, match="store: object has no method acquire\\(request\\)"):
        Store.custom(object())
    wrong = Lists()
    wrong.append = lambda lease: None
    with pytest.raises(TypeError, match="store: append: expected a function that is called as f\\(lease, seq, lines\\)"):
        Store.custom(wrong)


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_exception_of_a_custom_store_keeps_its_kind(is_async):
    class Mine(Exception):
        kind = "not_found"

    raised = []

    def failing(kind):
        def read(id, after, limit):
            raised.append(kind)
            raise kind

        async def read_async(id, after, limit):
            return read(id, after, limit)

        lists = Lists()
        lists.read = read_async if is_async else read
        return Store.custom(lists).session("a")

    for exception, error, text in [
        (BusyError("Ann has it"), BusyError, "Ann has it"),
        (Mine("none"), NotFoundError, "none"),
        (ValueError("no connection"), AgentIOError, "the lists: read: ValueError: no connection"),
    ]:
        session = failing(exception)
        with pytest.raises(error) as info:
            await session.records()
        assert str(info.value) == text
        assert info.value.__cause__ is exception


async def test_a_wrong_answer_of_a_custom_store_says_what_is_wrong():
    lists = Lists()
    for answer, why in [
        (7, "expected a dict|an object"),
        ([7], r"an array \(in \[7\]\)|a list"),
        (None, "got (null|None)"),
        ({}, "token is missing"),
    ]:
        lists.acquire = lambda request, answer=answer: answer
        with pytest.raises(AgentIOError, match=f"the lists: acquire: its answer cannot be used: .*({why})"):
            await Store.custom(lists).session("a").open()
    lists.acquire = lambda request: {"token": object()}
    with pytest.raises(AgentIOError, match="the lists: acquire: .*at /token: a value of type object is not JSON"):
        await Store.custom(lists).session("a").open()


async def test_a_custom_store_reports_to_followers_what_has_changed():
    class Changing(Lists):
        def __init__(self):
            super().__init__()
            self.waiting = asyncio.Event()

        async def changed(self, id, after):
            self.waiting.set()
            await self.more.wait()

    lists = Changing()
    lists.more = asyncio.Event()
    store = Store.custom(lists)
    async with store.session("a").open() as open:
        follow = store.session("a").follow(1)
        following = asyncio.create_task(follow.__anext__())
        await lists.waiting.wait()
        lists.more.set()
        await open.append([said("a")])
        assert (await following)["seq"] == 2


async def test_a_custom_store_is_freed_with_its_cycle():
    lists = Lists()
    lists.store = Store.custom(lists)
    async with lists.store.session("a").open() as open:
        await open.append([said("a")])
    freed = weakref.ref(lists)
    del lists, open
    # What the last call has used is dropped on its thread.
    while freed() is not None:
        gc.collect()
        await asyncio.sleep(0.01)


class Slow(Lists):
    """One whose `release` waits."""

    def __init__(self):
        super().__init__()
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def release(self, lease):
        self.asked.set()
        assert self.may_answer.wait(60)
        super().release(lease)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_found_a_close_that_is_cancelled_is_done_to_its_end(when):
    lists = Slow()
    store = Store.custom(lists)
    open = await store.session("a").open()
    await open.append([said("Hello.")])
    task = asyncio.create_task(open.close())
    await asyncio.sleep(0)
    if when == "meanwhile":
        await asyncio.to_thread(lists.asked.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # Who opens it waits for that.
    opening = asyncio.create_task(store.session("a")._open())
    await asyncio.to_thread(lists.asked.wait)
    lists.may_answer.set()
    async with await opening as again:
        assert texts(again.messages) == ["Hello."]
    await open.close()


async def test_a_custom_store_may_say_how_many_lines_a_session_had():
    class Counting(Lists):
        had = 0

        def read(self, id, after, limit):
            return {"lines": super().read(id, after, limit), "last": self.had}

    lists = Counting()
    session = Store.custom(lists).session("a")
    async with session.open() as open:
        await open.append([said("a")])
    lists.had = 2
    assert len(await session.records()) == 2
    lists.had = 3
    for read in (session.records, session.export):
        with pytest.raises(DamagedError, match="its records from 3 on are missing, of 3 that it had"):
            await read()
