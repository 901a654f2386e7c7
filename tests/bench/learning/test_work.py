"""bench.learning.work: so many at a time, one signal passed on to each, failures by name."""

import io
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from bench.learning import work as module
from bench.learning.work import work

#: ends 0.3 s after it has begun, and says when
TIMED = """
import os, sys, time
print(time.monotonic(), flush=True); time.sleep(0.3)
print(time.monotonic(), os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"])
"""
#: ends with 130 after a signal, and a moment, in which it counts more of them
STOPPED = """
import signal, sys, time
seen = []
signal.signal(signal.SIGTERM, lambda number, frame: seen.append("TERM"))
signal.signal(signal.SIGINT, lambda number, frame: seen.append("INT"))
print("ready", flush=True)
while not seen: time.sleep(0.01)
time.sleep(0.3)
print(*seen, flush=True)
sys.exit(130)
"""
#: heeds a second signal alone
STUBBORN = STOPPED.replace("while not seen", "while len(seen) < 2").replace("time.sleep(0.3)", "")


@pytest.fixture
def jobs(tmp_path):
    return lambda *names: [
        SimpleNamespace(name=name, folder=str(tmp_path / "runs" / name)) for name in names
    ]


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=200)


def log(job):
    return Path(f"{job.folder}.log").read_text()


def shown(console):
    return console.file.getvalue()


def python(text):
    return lambda job: [sys.executable, "-c", text]


def test_so_many_at_a_time_with_one_thread_each(jobs, console):
    three = jobs("a", "b", "c")
    assert work(three, python(TIMED), workers=2, console=console) == {}
    spans = [log(job).split() for job in three]
    assert all(span[2:] == ["1", "1"] for span in spans)
    begun, ended = ([float(span[i]) for span in spans] for i in (0, 1))
    assert max(begun[:2]) < min(ended[:2]) <= begun[2]
    assert "c is done, 3 of 3" in shown(console)


def test_a_failure_is_named_and_the_others_go_on(jobs, console):
    def command(job):
        code = "print('all', 'is lost'); raise SystemExit(5)" if job.name == "a" else "pass"
        return [sys.executable, "-c", code]

    assert work(jobs("a", "b"), command, workers=1, console=console) == {"a": 5}
    assert "a failed (5)" in shown(console) and "all is lost" in shown(console)
    assert "b is done, 1 of 2" in shown(console)


def test_a_process_that_was_killed_has_failed(jobs, console):
    text = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert work(jobs("a"), python(text), workers=1, console=console) == {"a": -9}
    assert "a failed (-9)" in shown(console)


def test_the_end_of_a_long_log_is_shown(jobs, console):
    text = "print('x' * 5000); print('the reason'); raise SystemExit(1)"
    assert work(jobs("a"), python(text), workers=1, console=console) == {"a": 1}
    assert "the reason" in shown(console) and len(shown(console)) < 4300


def test_no_jobs(console):
    assert work([], None, workers=2, console=console) == {} and shown(console) == ""


def signalling(paths, *pauses):
    """Send this process SIGINT when there is something in all ``paths``, and again after each of
    ``pauses`` but the first."""

    def run():
        deadline = time.monotonic() + 20
        while not all(path.exists() and path.read_text() for path in paths):
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)
        for pause in pauses:
            time.sleep(pause)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_signal_ends_each_once_and_begins_none(jobs, console):
    three = jobs("a", "b", "c")
    thread = signalling([Path(f"{job.folder}.log") for job in three[:2]], 0)
    with pytest.raises(KeyboardInterrupt):
        work(three, python(STOPPED), workers=2, console=console)
    thread.join()
    assert [log(job).split() for job in three[:2]] == [["ready", "TERM"]] * 2
    assert not Path(f"{three[2].folder}.log").exists()
    assert "with a checkpoint" in shown(console) and "failed" not in shown(console)


def test_a_second_signal_is_passed_on_too(jobs, console):
    (job,) = jobs("a")
    thread = signalling([Path(f"{job.folder}.log")], 0, 0.5)
    with pytest.raises(KeyboardInterrupt):
        work([job], python(STUBBORN), workers=2, console=console)
    thread.join()
    assert log(job).split() == ["ready", "TERM", "TERM"]


def test_a_process_that_heeds_no_signal_is_killed(jobs, console, monkeypatch):
    """A while after the second one; nothing is left behind."""
    monkeypatch.setattr(module, "_END_S", 0.3)
    (job,) = jobs("a")
    deaf = "import os, signal, time\n"
    deaf += "for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, signal.SIG_IGN)\n"
    deaf += "print(os.getpid(), flush=True); time.sleep(20)"
    thread = signalling([Path(f"{job.folder}.log")], 0.1, 0.5)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        work([job], python(deaf), workers=1, console=console)
    assert time.monotonic() - began < 15, "it would have slept for 20"
    thread.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(log(job)), 0)


def test_a_log_goes_on_with_its_run(jobs, console):
    """What is known of a run that was cut is not lost where it goes on."""
    for word in ("first", "second"):
        assert work(jobs("a"), python(f"print({word!r})"), workers=1, console=console) == {}
    assert log(*jobs("a")).split() == ["first", "second"]


def test_a_process_is_out_of_a_terminals_reach(jobs, console):
    """Its Ctrl-C is sent to a session's processes in the foreground, and would come twice."""
    (job,) = jobs("a")
    work([job], python("import os; print(os.getsid(0))"), workers=1, console=console)
    assert int(log(job)) != os.getsid(0)


def test_on_a_terminal_there_are_bars(jobs):
    """As the lines of a run's progress say: of a real one."""
    terminal = Console(file=io.StringIO(), width=150, force_terminal=True)
    text = (
        "import time; from rich.console import Console\n"
        "from host.runs.progress_bar import progress_bar\n"
        "with progress_bar(Console(width=200)) as bar:\n"
        "    task = bar.add_task('CartPole-v1', total=800)\n"
        "    bar.update(task, completed=300, state='return 21, best greedy 44')\n"
        "    time.sleep(0.4)"
    )
    assert work(jobs("a", "b"), python(text), workers=1, console=terminal) == {}
    for words in ("runs", "300/800", "return 21, best greedy 44", "1/2", "2/2"):
        assert words in shown(terminal), words
