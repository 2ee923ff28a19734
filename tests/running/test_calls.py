"""Many calls: their order, how many at once, timeouts, retries, and what stops them."""

import asyncio
import subprocess
import sys
import threading
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import tenacity

from raglift.adapters.policy import Policy
from raglift.errors import QueryTimeout
from raglift.running.calls import FirstFailure, call_all, call_all_async


def ignore(_count):
    pass


def values(outcomes):
    return [outcome.value for outcome in outcomes]


def asynchronous(call):
    async def run():
        return call()

    return run


@pytest.fixture
def waits(monkeypatch):
    """The seconds that retries wait; nobody really waits."""
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(tenacity.nap, "time", SimpleNamespace(sleep=waited.append))
    monkeypatch.setattr(tenacity.asyncio, "_portable_async_sleep", sleep)
    original = tenacity.asyncio.AsyncRetrying.__init__
    monkeypatch.setattr(
        tenacity.asyncio.AsyncRetrying, "__init__", lambda self, **given: original(self, sleep=sleep, **given)
    )
    return waited


@pytest.fixture
def blocked():
    """Something to hang on, until the test is over."""
    event = threading.Event()
    yield event
    event.set()


class Counter:
    """Counts how many calls are under way."""

    def __init__(self):
        self.now = self.most = self.total = 0
        self._lock = threading.Lock()

    def enter(self):
        with self._lock:
            self.total += 1
            self.now += 1
            self.most = max(self.most, self.now)

    def leave(self):
        with self._lock:
            self.now -= 1


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 7])
def test_results_come_in_the_order_of_the_calls(concurrency):
    delays = np.random.default_rng(7).uniform(0, 0.01, 40).tolist()

    def call(number):
        time.sleep(delays[number])
        return number

    async def call_async(number):
        await asyncio.sleep(delays[number])
        return number

    finished = []
    policy = Policy(concurrency=concurrency)
    outcomes = call_all([lambda n=n: call(n) for n in range(40)], policy, finished.append)
    assert values(outcomes) == list(range(40))
    assert finished == [1] * 40
    outcomes = call_all_async([lambda n=n: call_async(n) for n in range(40)], policy, finished.append)
    assert values(outcomes) == list(range(40))
    assert len(finished) == 80


@pytest.mark.parametrize("concurrency", [1, 3])
def test_never_more_than_so_many_calls_at_once(concurrency):
    counter = Counter()

    def call():
        counter.enter()
        time.sleep(0.005)
        counter.leave()

    async def call_async():
        counter.enter()
        await asyncio.sleep(0.005)
        counter.leave()

    call_all([call] * 20, Policy(concurrency=concurrency, timeout=5), ignore)
    assert counter.most == concurrency
    counter.most = 0
    call_all_async([call_async] * 20, Policy(concurrency=concurrency), ignore)
    assert counter.most == concurrency


@pytest.mark.parametrize("concurrency", [1, 5])
def test_a_hanging_call_times_out_and_the_others_are_fine(blocked, concurrency):
    calls = [lambda n=n: blocked.wait() if n in (0, 3) else n for n in range(8)]
    outcomes = call_all(calls, Policy(concurrency=concurrency, timeout=0.15), ignore)
    assert [place for place, outcome in enumerate(outcomes) if outcome.error] == [0, 3]
    assert isinstance(outcomes[0].error, QueryTimeout)
    assert "0.15 seconds" in str(outcomes[0].error)
    assert [outcome.value for outcome in outcomes if outcome.error is None] == [1, 2, 4, 5, 6, 7]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_system_that_hangs_is_given_up_on(blocked, concurrency):
    outcomes = call_all([blocked.wait] * 1000, Policy(concurrency=concurrency, timeout=0.02), ignore)
    assert all(isinstance(outcome.error, QueryTimeout) for outcome in outcomes)
    asked = [outcome for outcome in outcomes if not str(outcome.error).startswith("not asked")]
    assert len(asked) < 30
    assert "earlier calls hang past the timeout" in str(outcomes[-1].error)


def test_the_timeout_of_async_calls():
    async def call(number):
        await asyncio.sleep(60 if number == 1 else 0)
        return number

    outcomes = call_all_async([lambda n=n: call(n) for n in range(4)], Policy(concurrency=2, timeout=0.1), ignore)
    assert values(outcomes) == [0, None, 2, 3]
    assert isinstance(outcomes[1].error, QueryTimeout)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_async_call_that_blocks_its_event_loop_times_out_and_the_others_are_fine(blocked, concurrency):
    async def call(number):
        await asyncio.sleep(0)
        if number == 2:
            blocked.wait()
        return number

    outcomes = call_all_async(
        [lambda n=n: call(n) for n in range(8)], Policy(concurrency=concurrency, timeout=0.1), ignore
    )
    late = [place for place, outcome in enumerate(outcomes) if outcome.error is not None]
    assert 2 in late  # and what had begun on the same loop, and could not be called again
    assert len(late) <= concurrency
    assert all(isinstance(outcomes[place].error, QueryTimeout) for place in late)
    assert values(call_all_async([lambda: call(7)], Policy(), ignore)) == [7]


HANGING = """
import asyncio, threading, time
from raglift.adapters.policy import Policy
from raglift.running.calls import call_all, call_all_async

async def hang():
    await asyncio.to_thread(time.sleep, 60)

for outcome in call_all([lambda: time.sleep(60)], Policy(timeout=0.1), lambda n: None):
    print(type(outcome.error).__name__)
for outcome in call_all_async([hang], Policy(timeout=0.1), lambda n: None):
    print(type(outcome.error).__name__)
"""


@pytest.mark.slow
def test_the_process_ends_although_calls_hang():
    done = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["QueryTimeout", "QueryTimeout"]
    assert done.stderr == ""


def test_inside_a_running_loop_as_in_a_notebook():
    async def call():
        await asyncio.sleep(0)
        return 5

    async def cell():
        return values(call_all_async([call] * 3, Policy(concurrency=2), ignore)), values(
            call_all([lambda: asyncio.run(call())] * 2, Policy(concurrency=2), ignore)
        )

    assert asyncio.run(cell()) == ([5, 5, 5], [5, 5])


@pytest.mark.parametrize("policy", [Policy(), Policy(concurrency=3, timeout=5)], ids=["sequential", "pool"])
def test_errors_are_kept_with_their_call(policy):
    def call(number):
        if number == 2:
            raise LookupError(number)
        return number

    for make in (call_all, call_all_async):
        calls = [partial(call, n) for n in range(4)]
        if make is call_all_async:
            calls = [asynchronous(one) for one in calls]
        outcomes = make(calls, policy, ignore)
        assert values(outcomes) == [0, 1, None, 3]
        assert isinstance(outcomes[2].error, LookupError)


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("make", [call_all, call_all_async])
def test_raise_stops_at_the_first_failure(make, concurrency):
    made = []

    def call(number):
        made.append(number)
        time.sleep(0.002)
        if number == 3:
            raise LookupError("the third")

    calls = [lambda n=n: call(n) for n in range(200)]
    if make is call_all_async:
        calls = [asynchronous(call) for call in calls]
    with pytest.raises(FirstFailure) as caught:
        make(calls, Policy(concurrency=concurrency, on_error="raise"), ignore)
    assert caught.value.place == 3
    assert isinstance(caught.value.error, LookupError)
    count = len(made)
    assert count < 100
    time.sleep(0.05)
    assert len(made) <= count + concurrency


def interrupted_task_group():
    return BaseExceptionGroup("tasks", [ValueError("cancelled"), KeyboardInterrupt()])


@pytest.mark.slow
@pytest.mark.parametrize("stop", [KeyboardInterrupt, interrupted_task_group])
@pytest.mark.parametrize("policy", [Policy(), Policy(concurrency=3)], ids=["sequential", "pool"])
@pytest.mark.parametrize("make", [call_all, call_all_async])
def test_an_order_to_stop_inside_a_call_stops_everything(make, policy, stop):
    made = []

    def call(number):
        made.append(number)
        time.sleep(0.001)
        if number == 1:
            raise stop()

    calls = [lambda n=n: call(n) for n in range(200)]
    if make is call_all_async:
        calls = [asynchronous(call) for call in calls]
    with pytest.raises(FirstFailure) as caught:
        make(calls, policy, ignore)
    assert isinstance(caught.value.error, KeyboardInterrupt if stop is interrupted_task_group else stop)
    assert len(made) < 100


INTERRUPTED = """
import asyncio, os, signal, threading, time
from raglift.adapters.policy import Policy
from raglift.running.calls import call_all, call_all_async

made = []

def call():
    made.append(1)
    time.sleep(0.01)

async def call_async():
    made.append(1)
    await asyncio.sleep(0.01)

for make, one in ((call_all, call), (call_all_async, call_async)):
    made.clear()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        make([one] * 2000, Policy(concurrency=2, timeout=30), lambda n: None)
    except KeyboardInterrupt:
        time.sleep(0.05)
        count = len(made)
        time.sleep(0.2)
        print("stopped", 0 < count < 1000, len(made) == count)
"""


@pytest.mark.slow
def test_an_interrupted_run_asks_nothing_more():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == ["stopped True True"] * 2, done.stderr


class Busy(Exception):
    def __init__(self, status_code, headers=None):
        super().__init__("busy")
        self.status_code = status_code
        self.response = SimpleNamespace(status_code=status_code, headers=headers or {})


class Flaky:
    """Fails so often, then answers."""

    def __init__(self, error, failures):
        self.error = error
        self.failures = failures
        self.made = 0

    def __call__(self):
        self.made += 1
        if self.made <= self.failures:
            raise self.error
        return "answer"


@pytest.mark.parametrize("make", [call_all, call_all_async])
@pytest.mark.parametrize("error", [ConnectionError(), Busy(429)], ids=repr)
def test_what_may_pass_is_tried_again(waits, make, error):
    flaky = Flaky(error, failures=2)
    (outcome,) = make([flaky if make is call_all else asynchronous(flaky)], Policy(retries=2), ignore)
    assert outcome.value == "answer"
    assert flaky.made == 3
    assert len(waits) == 2


@pytest.mark.parametrize("make", [call_all, call_all_async])
def test_retries_end(waits, make):
    flaky = Flaky(error := Busy(429), failures=99)
    (outcome,) = make([flaky if make is call_all else asynchronous(flaky)], Policy(retries=3), ignore)
    assert outcome.error is error
    assert flaky.made == 4


@pytest.mark.slow
def test_a_call_that_was_given_up_on_is_not_tried_again():
    made: list[int] = []

    def slow_and_failing() -> None:
        made.append(1)
        time.sleep(0.3)
        raise ConnectionError("lost")

    outcomes = call_all([slow_and_failing], Policy(timeout=0.1, retries=5), lambda _: None)
    assert isinstance(outcomes[0].error, QueryTimeout)
    time.sleep(1.5)
    assert made == [1]


def test_the_text_of_an_error_is_made_within_the_timeout():
    over = threading.Event()

    class SlowToSay(Exception):
        def __str__(self):
            over.wait(10)
            return "at last"

    def fails():
        raise SlowToSay

    (outcome,) = call_all([fails], Policy(timeout=0.05), ignore)
    over.set()
    assert type(outcome.error) is QueryTimeout
