"""The command line, run in this process; a disk that is full; a board at a serial port."""

import resource

import pytest
import serial
from card.copy_kernel import CopyTwin, generate
from in_process import in_process
from uart.serial_port import SerialPort
from uart.systems import twin

from host.agents.registry import ALGORITHMS
from host.cards import serial_line
from sim.model.kernels import KERNELS


@pytest.fixture
def run(monkeypatch, capsys):
    """``run(*words)`` gives exit code, standard output and standard error of the command."""
    return in_process(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def forgotten_trainers():
    """After each test no algorithm has the name of a file any more."""
    yield
    for name in [name for name in ALGORITHMS if ".py:" in name]:
        del ALGORITHMS[name]


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """For ``rlfabric compose``: nothing is trained; the list of the plans that were measured."""
    from tests.host.composed_plans import unmeasured  # the whole command line

    monkeypatch.chdir(tmp_path)
    return unmeasured(monkeypatch)


@pytest.fixture
def disk():
    """``disk(full)``: no file can grow, or they can again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(full):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0 if full else soft, hard))

    yield limit
    limit(False)


@pytest.fixture
def plug(monkeypatch):
    """``plug(board=None, **options)``: the SerialPort that the next card finds; short silences."""
    monkeypatch.setattr(serial_line, "SILENCE_S", 0.05)

    def plug(board=None, kind=SerialPort, **options):
        port = kind(board or twin(), **options)

        def open_port(name, baud, *, timeout, exclusive):
            assert (name, baud, exclusive) == ("/dev/board", 3_000_000, True) and timeout <= 0.1
            return port

        monkeypatch.setattr(serial, "Serial", open_port)
        return port

    return plug


@pytest.fixture
def copy_twin(monkeypatch):
    """The twin of kernel ``copy`` is known."""
    monkeypatch.setitem(KERNELS, "copy", CopyTwin)


@pytest.fixture(scope="module")
def copy_path(tmp_path_factory):
    """The description of kernel ``copy``, beside what a real card loads in its place."""
    path = generate(tmp_path_factory.mktemp("copy"))
    path.with_suffix(".xclbin").write_text(path.read_text())
    return path
