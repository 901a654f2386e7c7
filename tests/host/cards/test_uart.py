"""host.cards.uart on a board's twin: launches, and every way in which the line may fail."""

import functools
from unittest.mock import Mock

import numpy as np
import pytest
from later import crossed
from uart.systems import UART, describe, twin

from host.cards import CapacityError, CardError, CardTimeout, HashMismatch, open_card
from host.cards.kernel import GivenUp
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.shell.control_map import CTRL
from hw.uart.protocol import END, IDENTITY, STATUS_WORDS, Opcode, Status
from sim.card.buffer import xclBOSyncDirection
from sim.model.uart.frames import Decoder, encode, split_request

FIELDS = {"observation": (np.float32, (4,)), "reward": (np.float32, ())}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "kernel.json"
    path.write_text(describe().to_json())
    return path


def session(card, path, steps=6):
    """Batches of a short session, and its state."""
    kernel = card.load(path)
    kernel.check()
    buffer = PrioritizedReplayBuffer(kernel, FIELDS, capacity=200, seed=3)
    rng, out = np.random.default_rng(1), []
    for step in range(steps):
        buffer.add(observation=rng.standard_normal((30, 4)), reward=rng.random(30))
        batch = buffer.sample(16, beta=0.5)
        buffer.update_priorities(batch["indexes"], batch["reward"] * (step + 1))
        out += [batch[name].tobytes() for name in sorted(batch)]
    state = buffer.state_dict()
    return out, state["experiences"].tobytes(), state["priorities"].tobytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "kernel.json"
    path.write_text(describe().to_json())
    with open_card("model") as card:
        return session(card, path)


def test_same_bytes_as_the_model(path, plug, expected):
    port = plug()
    with open_card("uart:/dev/board") as card:
        assert session(card, path) == expected
        assert len(port.written) > 50
    assert port.closed


def lossy(direction, every, harm):
    """Faults that do ``harm`` to every so-maniest message of a direction."""
    count = 0

    def faults(way, data):
        nonlocal count
        if way != direction or not data:
            return data
        count += 1
        return harm(data) if count % every == 0 else data

    return faults


HARMS = {
    "lost": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "no end": lambda data: data[:-1],
    "no head": lambda data: data[3:],
    "changed": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "garbage": lambda data: b"garbage" + data + b"\xdb",
}


@pytest.mark.parametrize("harm, direction", crossed(HARMS, ("in", "out")))
def test_r_a_bad_line_changes_nothing(path, plug, expected, direction, harm):
    """What is lost on either way is sent again, a start without starting twice."""
    plug(faults=lossy(direction, 7, harm))
    with open_card("uart:/dev/board") as card:
        assert session(card, path) == expected


def test_r_a_lost_reply_to_a_start_starts_once(path, plug):
    port = plug()
    launches = []
    with open_card("uart:/dev/board") as card:
        kernel = card.load(path)
        execute = port.board._kernel.execute
        port.board._kernel.execute = lambda *each: (launches.append(1), execute(*each))
        lost = []

        def faults(direction, data):
            starts = [
                frame
                for frame in Decoder().feed(port.written[-1])
                if split_request(frame)[1:3] == (Opcode.WRITE.value, CTRL.offset)
            ]
            if direction == "out" and starts and not lost:
                lost.append(data)
                return b""
            return data

        port.faults = faults
        kernel.check()
    assert lost and len(launches) == 1


def test_a_launch_that_did_not_end_has_the_board_reset(path, plug, expected, monkeypatch):
    """The line is opened anew, which resets the kernel: it may still be at work."""
    ports = [plug()]
    with open_card("uart:/dev/board") as card:
        kernel = card.load(path)
        with monkeypatch.context() as patch, pytest.raises(GivenUp):
            patch.setattr(kernel.flight, "check", Mock(side_effect=[None, GivenUp]))
            kernel.check()
        ports.append(plug(ports[0].board))
        assert not ports[0].closed
        assert session(card, path) == expected
        assert ports[0].closed and ports[1].written[0] == ports[0].written[0]
    assert ports[1].closed


def test_a_silent_board_is_told(plug, monkeypatch):
    port = plug(faults=lambda direction, data: b"")
    with pytest.raises(CardTimeout, match="the board at /dev/board must answer within 0.05 s, not"):
        open_card("uart:/dev/board")
    assert port.closed and len(port.written) == 1 + 3 and port.written[-1][0] == END


def test_a_port_that_does_not_open():
    with pytest.raises(CardError, match="port must be a serial port that opens, not '/dev/none'"):
        open_card("uart:/dev/none")


@pytest.mark.parametrize("name, value", [("magic", 5), ("version", 9)])
def test_a_board_of_another_version(plug, name, value):
    board = twin()
    record = np.frombuffer(board.identity, IDENTITY.dtype).copy()
    record[name] = value
    board.identity = record.tobytes()
    port = plug(board)
    with pytest.raises(CardError, match=rf"{name} must be 0x\w+, not {value:#x}: the bitstream"):
        open_card("uart:/dev/board")
    assert port.closed


@pytest.mark.parametrize("name", ["payload", "backlog"])
def test_a_board_that_takes_nothing(plug, name):
    board = twin()
    record = np.frombuffer(board.identity, IDENTITY.dtype).copy()
    record[name] = 0
    board.identity = record.tobytes()
    plug(board)
    with pytest.raises(CardError, match=f"^{name} must be above 0, not as the board at /dev/board"):
        open_card("uart:/dev/board")


@pytest.mark.parametrize("count", [1, 2])
def test_banks_are_those_that_the_board_counts(plug, count):
    """Its record has room for more, and what is there says nothing."""
    board = twin()
    record = np.frombuffer(board.identity, IDENTITY.dtype).copy()
    record["banks"][0, count:], record["bank_count"] = 1 << 20, count
    board.identity = record.tobytes()
    plug(board)
    with open_card("uart:/dev/board") as card:
        mems = card.device.banks
        assert [bank.bank.name for bank in mems] == ["BRAM[0]", "BRAM[1]"][:count]
        assert [bank.bank.size for bank in mems] == record["banks"][0, :count].tolist()


def test_a_kernel_of_another_config(path, plug):
    board = twin()
    record = np.frombuffer(board.identity, IDENTITY.dtype).copy()
    expected = int(record["config_hash"][0])
    record["config_hash"] ^= 1
    board.identity = record.tobytes()
    plug(board)
    with open_card("uart:/dev/board") as card:
        with pytest.raises(HashMismatch, match=f"must be {expected:#018x} as described, not"):
            card.load(path)


@pytest.mark.parametrize("status", [*Status][1:])
def test_every_refusal_has_words(path, plug, status):
    port = plug()
    with open_card("uart:/dev/board") as card:
        kernel = card.load(path)
        port.board._execute = lambda sequence, *_: bytes([sequence, status])
        words = STATUS_WORDS[status]
        with pytest.raises(CardError, match=f"at 0x10.... must be done by .*: {words}"):
            kernel.buffer("program", 64).write(np.zeros(4))


def test_replies_of_another_length_or_version(path, plug):
    port = plug()
    with open_card("uart:/dev/board") as card:
        buffer = card.load(path).buffer("program", 64)
        port.board._execute = lambda sequence, *_: bytes([sequence, 1, Status.DONE])
        with pytest.raises(CardError, match="READ of 64 .*a reply must have 64 bytes, not 1"):
            buffer.from_device()
        port.board._execute = lambda sequence, *_: bytes([sequence, 77])
        with pytest.raises(CardError, match="status 77 of another version of the protocol"):
            buffer.from_device()


def test_what_nobody_asked_for_is_ignored(path, plug):
    """Replies that come twice, or to requests of a program that was interrupted."""
    stale = encode(bytes([200, 9, 9, Status.DONE])) + encode(b"") + encode(b"\1")
    plug(faults=lambda direction, data: data if direction == "in" else stale + data + data)
    with open_card("uart:/dev/board") as card:
        buffer = card.load(path).buffer("program", 4096)
        data = np.random.default_rng(1).integers(0, 256, 4096, np.uint8)
        buffer.write(data)
        buffer.view[:] = 0
        assert (buffer.read(np.uint8, 4096) == data).all()


def test_parts_of_a_buffer_and_the_banks_room(path, plug):
    plug()
    with open_card("uart:/dev/board") as card:
        kernel = card.load(path)
        buffer = kernel.buffer("storage", 5000)
        buffer.write((np.arange(5000) % 251 + 1).astype(np.uint8))
        buffer.write(np.full(3, 255, np.uint8), 1023)
        buffer.view[:] = 0
        assert buffer.read(np.uint8, 5, 1022).tolist()[1:4] == [255] * 3
        assert buffer.view[:1022].max() == 0 == buffer.view[1027:].max()
        buffer.bo.sync(xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE, offset=4000)  # to its end
        assert buffer.view[3999] == 0 and buffer.view[4000:].min() > 0
        with pytest.raises(
            CapacityError, match=r"at most 16384 bytes for storage \(bank BRAM\[1\]"
        ):
            kernel.buffer("storage", 20_000)
        del buffer
        assert kernel.buffer("storage", 24 << 10).bo.address() == UART.bases[1]


def test_requests_on_their_way_fit_the_backlog(path, plug):
    """A large transfer never has more bytes of requests without reply than the board takes."""
    port = plug()
    with open_card("uart:/dev/board") as card:
        buffer = card.load(path).buffer("storage", 24 << 10)
        under_way, most = [0], []
        exchange = port.board.exchange

        def late(data):
            under_way[0] += len(data)
            most.append(under_way[0])
            return exchange(data)

        port.board.exchange = late
        read = port.read

        def reading(count):
            data = read(count)
            under_way[0] = 0 if not port.arrived else under_way[0]
            return data

        port.read = reading
        data = np.full(24 << 10, END, np.uint8)  # every byte is two on the line
        buffer.write(data)
        buffer.view[:] = 0
        written, most[:] = max(most), []
        assert (buffer.read(np.uint8, 24 << 10) == data).all()
    frame = len(encode(bytes(8) + bytes([END]) * UART.payload))
    assert UART.payload < written <= max(UART.backlog, frame)
    # Those to read are short: many are on their way together.
    assert 10 * len(encode(bytes(8))) < max(most) <= UART.backlog


def test_arguments_are_written_once(path, plug):
    """A second launch with the same arguments is one write and the reads of CTRL."""
    port = plug()
    with open_card("uart:/dev/board") as card:
        kernel = card.load(path)
        arguments = {
            argument.name: kernel.buffer(argument.name, 4096) if argument.kind == "pointer" else 0
            for argument in describe().arguments
        }
        kernel.launch(**arguments)
        before = len(port.written)
        kernel.launch(**arguments)
        assert len(port.written) - before == 3
        kernel.launch(**{**arguments, "operands_bytes": 64})
        assert len(port.written) - before == 3 + 4


def test_partial_is_not_shared(path, plug):
    """Two cards in turn on one board: the second finds a kernel without the first one's state."""
    port = plug()
    make = functools.partial(PrioritizedReplayBuffer, fields=FIELDS, capacity=200, seed=3)
    with open_card("uart:/dev/board") as card:
        make(card.load(path)).add(observation=np.ones((5, 4)), reward=np.ones(5))
    assert port.board._kernel.core.fill == 5
    with open_card("uart:/dev/board") as card:
        card.load(path).check()
    assert port.board._kernel.core.fill == 0
