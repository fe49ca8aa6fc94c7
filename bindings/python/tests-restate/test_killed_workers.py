"""Workers on Restate that are killed."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from on_restate import Prompt, ask, summary, until
from script import RESULTS

# How many sessions two workers serve while one of them is killed each second, and for how long.
SESSIONS, KILLED_SECONDS = 50, 60


def check_ledger(server):
    """No call ran after its result was taken from the journal. Returns how many calls ran more than once."""
    taken, ran = set(), []
    for line in server.notes():
        if "taken" in line:
            taken.add(line["taken"])
        if "ran" in line:
            assert line["key"] not in taken, f"{line} ran after its result was journaled"
            ran.append(line["key"])
    return len(ran) - len(set(ran))


def check_parallel(result, where):
    assert (result["outcome"], result["text"]) == ("completed", "Rain everywhere."), where
    assert [one["role"] for one in result["messages"]] == ["user", "assistant", *["tool_result"] * 3, "assistant"], where
    assert summary(result["messages"])[2:5] == RESULTS, where


def test_a_worker_that_is_killed_at_each_step(server):
    points = 0
    while True:
        points += 1
        server.forget()
        with server.worker(points):
            check_parallel(Prompt("parallel", f"killed-{points}", "prompt", "Rain?").answer(), points)
        check_ledger(server)
        if not server.noted("killed"):
            break
    print(f"\n{points - 1} points")
    assert points > 10


def test_two_workers_of_which_one_is_killed_each_second(server):
    server.forget()
    over = threading.Event()

    def session(number):
        """Prompts until the workers are no longer killed."""
        count = 0
        while not over.is_set():
            count += 1
            check_parallel(ask("parallel", f"many-{number}", "prompt", "Rain?"), number)
        messages = ask("parallel", f"many-{number}", "state")["messages"]
        assert len(messages) == 6 * count
        return count

    with server.worker(), server.worker(), ThreadPoolExecutor(SESSIONS) as pool:
        running = [pool.submit(session, number) for number in range(SESSIONS)]
        for _ in range(KILLED_SECONDS):
            time.sleep(1)
            os.kill(server.noted("worker")[-2], signal.SIGKILL)
        over.set()
        counts = [one.result() for one in running]
    again = check_ledger(server)
    print(f"\nplayed {sum(counts)} prompts of {SESSIONS} sessions over {KILLED_SECONDS} killed workers; {again} calls ran again")
