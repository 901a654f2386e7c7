"""What a launch is told: new arguments reach the kernel, old ones stay, wrong ones leave nothing;
and the room of each memory bank by itself."""

import numpy as np
import pytest
from card.copy_kernel import CopyConfig, CopyTwin, generate

from host.cards import CapacityError, open_card
from sim.card.memory import Bank
from sim.model.kernels import KERNELS


@pytest.fixture(autouse=True)
def twin(monkeypatch):
    monkeypatch.setitem(KERNELS, "copy", CopyTwin)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("copy"), CopyConfig(storage=True))


class Copies:
    """Buffers of a kernel that copies operands to storage."""

    def __init__(self, kernel, size=4096):
        self.kernel = kernel
        pointers = [a.name for a in kernel.description.arguments if a.kind == "pointer"]
        self.own = {name: kernel.buffer(name, size) for name in pointers}
        self.set_calls = []
        run = kernel._run
        set_arg = run.set_arg
        run.set_arg = lambda index, value: (self.set_calls.append(index), set_arg(index, value))

    def operands(self, value, size=4096):
        """A new buffer of operands, all bytes ``value``."""
        buffer = self.kernel.buffer("operands", size)
        buffer.write(np.full(size, value, np.uint8))
        return buffer

    def launch(self, count=1, **changed):
        """The copied bytes, as a set; -1 is what nothing was written over."""
        storage = changed.get("storage", self.own["storage"])
        storage.write(np.full(storage.size, 255, np.uint8))
        self.kernel.launch(**{**self.own, **changed, "command_count": count})
        return set(storage.read(np.int8, storage.size).tolist())


@pytest.mark.parametrize("card", ["model", "sim"])
def test_what_changes_is_set(path, card):
    with open_card(card) as device:
        copies = Copies(device.load(path))
        one, two = copies.operands(1), copies.operands(2)
        assert copies.launch(operands=one) == {1}
        one.write(np.full(4096, 3, np.uint8))
        copies.set_calls.clear()
        assert copies.launch(operands=one) == {3}
        assert not copies.set_calls, "nothing was new"
        assert copies.launch(0, operands=one) == {-1}
        assert copies.launch(1, operands=two) == {2}
        # Another buffer has another size, which is the launch's own again.
        short = copies.operands(4, 1024)
        assert copies.launch(operands=short) == {4, -1}
        assert copies.launch(operands=short, operands_bytes=64) == {4, -1}
        assert copies.launch(operands=two) == {2}
        # So it is where a number changes with the buffer.
        assert copies.launch(operands=short) == {4, -1}
        assert copies.launch(0, operands=two) == {-1}
        assert copies.launch(1, operands=two) == {2}
        other = copies.kernel.buffer("storage", 8192)
        assert copies.launch(operands=two, storage=other) == {2, -1}
        assert copies.launch(operands=two) == {2}


def test_after_a_refusal_everything_is_looked_at(path):
    """A launch that was half told does not count as told; equal is not the same."""
    with open_card("model") as device:
        copies = Copies(device.load(path))
        one, two = copies.operands(1), copies.operands(2)
        assert copies.launch(operands=one) == {1}
        for wrong in (1.0, True + 0.0, None, -1):
            for operands in (one, two):
                with pytest.raises(ValueError, match="command_count must be an integer"):
                    copies.launch(wrong, operands=operands)
                assert copies.launch(operands=one) == {1}
        with pytest.raises(ValueError, match="argument must be one of"):
            copies.launch(operands=one, nothing=1)
        assert copies.launch(operands=two) == {2}
        # check() gives the kernel another run, which knows none of it.
        copies.kernel.check()
        assert copies.launch(operands=two) == {2}
        with pytest.raises(ValueError, match="program must be set, not missing"):
            copies.kernel.launch(command_count=1)
        with pytest.raises(ValueError, match="must be set, not missing"):
            copies.kernel.launch()


def test_nothing_at_all_is_refused(path):
    with open_card("model") as device:
        with pytest.raises(ValueError, match="program must be set, not missing"):
            device.load(path).launch()


def test_each_bank_has_room_of_its_own(path):
    """What one bank holds does not fill the other."""
    banks = [Bank("DDR[0]", 1 << 16), Bank("DDR[1]", 1 << 16)]
    with open_card("model", banks=banks) as device:
        kernel = device.load(path)
        kernel.check()  # whose buffers nobody holds any more
        whole = kernel.buffer("storage", 1 << 16)
        with pytest.raises(CapacityError, match=r"at most 0 bytes for storage \(bank DDR\[1\]"):
            kernel.buffer("storage", 1)
        other = kernel.buffer("operands", 1 << 16)
        with pytest.raises(CapacityError, match=r"at most 0 bytes for results \(bank DDR\[0\]"):
            kernel.buffer("results", 64)
        del whole
        assert kernel.buffer("storage", 1 << 16).size == other.size
