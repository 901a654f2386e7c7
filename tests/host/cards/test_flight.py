"""host.cards.kernel, host.algorithms.learner: a launch can be given up, a thread left behind."""

import threading
import time

import pytest
from card.copy_kernel import breach, generate, prepared

from host.algorithms.learner import Background
from host.cards import open_card
from host.cards.kernel import Flight, GivenUp
from sim.card.memory import MemoryConfig


def test_seconds_of_launches_add_up():
    times = iter((1, 3, 10, 14))
    flight = Flight(clock=lambda: next(times))
    with flight:
        pass
    with pytest.raises(LookupError):
        with flight:
            raise LookupError
    assert flight.seconds == 6


def test_n_a_launch_without_end_is_given_up(tmp_path):
    """On the simulated card, from another thread; the card closes well afterwards."""
    with open_card("sim", memory=MemoryConfig(max_idle=2**31)) as card:
        kernel, _, arguments = prepared(card, generate(tmp_path))
        arguments["operands_bytes"] += breach("no_done")
        timer = threading.Timer(0.3, kernel.flight.abort)
        timer.start()
        began = time.monotonic()
        with pytest.raises(GivenUp, match="^launch must end by itself, not be given up$"):
            kernel.launch(**arguments)
        assert time.monotonic() - began < 5 and kernel.flight.seconds > 0.2
        with pytest.raises(GivenUp):  # nor is another one waited for
            kernel.launch(**arguments)


def test_n_a_card_at_work_is_left_alone(tmp_path):
    """Closing it while a thread is in the simulation would take the simulation from under it."""
    card = open_card("sim", memory=MemoryConfig(max_idle=2**31))
    kernel, _, arguments = prepared(card, generate(tmp_path))
    arguments["operands_bytes"] += breach("no_done")
    engine = card.device._kernel
    run, entered, leave = engine._library.card_run, threading.Event(), threading.Event()

    def slow(*arguments):
        entered.set()
        leave.wait(10)
        return run(*arguments)

    engine._library.card_run = slow
    background = Background("card")
    future = background.submit(lambda: kernel.launch(**arguments))
    assert entered.wait(10)
    began = time.monotonic()
    background.close(kernel.flight.abort)
    card.close()
    assert time.monotonic() - began < 5 and engine._card is not None and not future.done()
    leave.set()
    with pytest.raises(GivenUp):
        future.result(timeout=10)
    engine.close()
    assert engine._card is None


def test_calls_come_one_after_another():
    background, order = Background("card"), []

    def call(number):
        order.append((number, threading.current_thread().name))
        if number == 2:
            raise LookupError(number)
        return number

    futures = [background.submit(call, number) for number in range(4)]
    assert [futures[n].result(timeout=10) for n in (0, 1, 3)] == [0, 1, 3]
    with pytest.raises(LookupError, match="2"):
        futures[2].result(timeout=10)
    assert order == [(n, "card") for n in range(4)]
    background.close(lambda: pytest.fail("nothing is under way"))
    assert not background._thread.is_alive()
