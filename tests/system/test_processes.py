"""system.processes: tools that fail say why, and none outlives the one who called it."""

import os
import signal
import subprocess
import threading
import time

import pytest

from system.processes import BuildError, run, run_all


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie of a process that has none to wait for it counts as ended.
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"


def ended(pid):
    """Whether a process ends within 5 s."""
    deadline = time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def test_output_and_failure(tmp_path):
    assert run(tmp_path, "sh", "-c", "pwd; echo warning >&2") == f"{tmp_path}\n"
    with pytest.raises(BuildError, match="(?s)^sh must accept its input, not fail:.*why.*what$"):
        run(tmp_path, "sh", "-c", "echo what; echo why >&2; exit 3")


def test_all_run_and_the_first_failure_ends_the_others(tmp_path):
    run_all(tmp_path, [("touch", str(number)) for number in range(9)])
    assert len(list(tmp_path.iterdir())) == 9
    run_all(tmp_path, [])
    began = time.monotonic()
    with pytest.raises(BuildError, match="exit 1"):
        run_all(tmp_path, [("sleep", "60"), ("sh", "-c", "echo exit 1; exit 1")] * 2)
    assert time.monotonic() - began < 10


@pytest.fixture
def interrupts():
    """SIGINT is KeyboardInterrupt, also where this process was begun in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("many", [False, True])
def test_an_interrupt_while_a_child_begins_leaves_no_orphan(tmp_path, monkeypatch, many):
    begun = []

    class Popen(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            begun.append(self.pid)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("system.processes.subprocess.Popen", Popen)
    with pytest.raises(KeyboardInterrupt):
        run_all(tmp_path, [("sleep", "60")] * 3) if many else run(tmp_path, "sleep", "60")
    assert len(begun) == 1 and ended(begun[0])


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("many", [False, True])
def test_o_an_interrupt_leaves_no_orphans(tmp_path, many):
    """Neither a child nor a child's child, as a compiler has them."""
    command = ("sh", "-c", "sleep 60 & echo $! > grandchild; echo $$ > child; wait")

    def interrupt():
        while not (tmp_path / "child").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread, began = threading.Thread(target=interrupt), time.monotonic()
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_all(tmp_path, [command]) if many else run(tmp_path, *command)
    thread.join(timeout=10)
    assert time.monotonic() - began < 10
    for name in ("child", "grandchild"):
        assert ended(int((tmp_path / name).read_text())), name
