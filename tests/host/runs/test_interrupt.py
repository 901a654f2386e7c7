"""host.interrupt: two signals end a command well at any time, also while Python itself ends."""

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from host.interrupt import stop_requests, terminating
from tests.children import *

ROOT = Path(__file__).parents[3]
SMALL = dict(hidden="8,6", batch_size=16, learning_starts=64, evaluation_episodes=4)
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture
def start(children):
    """``start(*words)`` starts Python with the project's modules."""
    return lambda *words: children(*words, PYTHONPATH=str(ROOT))


def ended(process, seconds=20):
    """Exit code and what was still printed, on both streams."""
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_the_second_signal_is_an_interrupt_at_once(first, second):
    before = [signal.getsignal(number) for number in SIGNALS]
    with pytest.raises(KeyboardInterrupt), stop_requests() as received:
        signal.raise_signal(first)
        assert received == [first]
        signal.raise_signal(second)
        pytest.fail("it is the second one")
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_command_that_clears_away_ends_by_sigterm_as_by_sigint():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), terminating():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


def test_beside_the_main_thread_no_signal_is_taken():
    before, found = [signal.getsignal(number) for number in SIGNALS], []

    def work():
        with stop_requests() as received, terminating():
            found.append((received, [signal.getsignal(number) for number in SIGNALS]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [([], before)]


def interrupted(start, out, first, second):
    """A run that a signal meets ``first`` seconds behind its beginning, and another ``second``
    seconds later."""
    words = ["-m", "rlfabric", "train", "dqn", "--steps", "1000000", "--out", str(out)]
    for name, value in SMALL.items():
        words += ["--set", f"{name}={value}"]
    process, deadline = start(*words), time.monotonic() + 60
    while not (out / "progress.csv").exists():
        assert process.poll() is None and time.monotonic() < deadline, "a run must begin"
        time.sleep(0.01)
    for delay in (first, second):
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert code == 130, (first, second, err)
    assert not any(word in err for word in ("Traceback", "Fatal", "ignored")), (first, second, err)


@pytest.mark.parametrize("first, second", [(0, 0.05), (0.3, 0.6)])
def test_n_two_signals_end_a_run(start, tmp_path, first, second):
    """In its first launch; in its last steps, checkpoint or plot."""
    interrupted(start, tmp_path / "run", first, second)


#: SIGINT as soon as a module is looked for
WHILE_IMPORTING = """
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, *rest):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["rlfabric", "show", "dqn"]
runpy.run_module("rlfabric", run_name="__main__")
"""


@pytest.mark.parametrize("name", ["typer", "host.cli.field_rows"])
def test_ctrl_c_while_it_is_imported_is_a_word(start, name):
    """user D11: a traceback of ours, or no word at all."""
    code, out, err = ended(start("-c", WHILE_IMPORTING.format(name=name)))
    assert (code, out, err) == (130, "", "rlfabric: interrupted\n")


@pytest.mark.long
def test_n_two_signals_end_a_run_at_any_time(start, tmp_path):
    rng = random.Random(12)
    for index in range(20):
        second = rng.choice((0.02, 0.1, 0.3, 0.6, 1)) * rng.uniform(0.5, 1.5)
        interrupted(start, tmp_path / str(index), rng.uniform(0, 1.5), second)


#: says where it is while Python is being taken down, and takes its time
ENDING = """
import atexit, builtins, time
from host.interrupt import leave
def slow(where, sleep=time.sleep, print=builtins.print):
    print(where, flush=True)
    sleep(0.3)
class Last:
    def __del__(self, slow=slow):
        slow("modules")
builtins.last = Last()
atexit.register(slow, "functions")
leave(7)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_while_python_ends(start, number):
    process = start("-c", ENDING)
    for where in ("functions", "modules"):
        assert process.stdout.readline() == f"{where}\n"
        process.send_signal(number)
    assert ended(process) == (7, "", "")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_wait_for_a_thread(start, number):
    """One that is no daemon, an environment's say; what was printed is not lost."""
    process = start(
        "-c",
        "import sys, threading, time; from host.interrupt import leave\n"
        "threading.Thread(target=lambda: time.sleep(60)).start()\n"
        "print('begun', flush=True); print('more'); sys.stderr.write('words'); leave(7)",
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.2)
    process.send_signal(number)
    assert ended(process) == (7, "more\n", "words")


#: a call that a thread is left behind in: it ends a second later
LEFT = """
import atexit, time
from host.algorithms.learner import Background
from host.interrupt import leave
background = Background("card")
def call():
    time.sleep(1.5)
    print("call", flush=True)
background.submit(call)
atexit.register(print, "functions")
background.close(lambda: None)
print("closed")
"""


def test_n_a_thread_that_is_left_behind_is_not_waited_for(start):
    process = start("-c", LEFT + "leave(130)")
    assert ended(process) == (130, "closed\nfunctions\n", "")


def test_a_program_of_ones_own_waits_for_it(start):
    assert ended(start("-c", LEFT)) == (0, "closed\nfunctions\ncall\n", "")


#: an interrupt in the middle of ``exec`` of a text, as where a module makes a dataclass
IN_A_TEXT = """
import signal
from host.interrupt import leave
try:
    exec("import signal; signal.raise_signal(signal.SIGINT)")
except KeyboardInterrupt:
    leave(130)
"""


def test_an_interrupt_of_a_text_ends_with_the_code_all_the_same(children, tmp_path):
    """Python itself would end by SIGINT, and its parent would see no exit code."""
    (tmp_path / "in_a_text.py").write_text(IN_A_TEXT)
    process = children("-m", "in_a_text", PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]))
    assert ended(process) == (130, "", "")
