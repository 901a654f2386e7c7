"""host.cards on simulated cards, and on stand-ins for both eras of pyxrt."""

import gc
import json
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from card.copy_kernel import CopyConfig, CopyTwin, breach, generate, prepared

from host.cards import CapacityError, CardError, CardTimeout, HashMismatch, open_card
from hw.errors import MissingTool
from hw.shell.status_block import STATUS
from sim.card.memory import Bank, Fault, MemoryConfig
from sim.model.kernels import KERNELS
from tests.host.pyxrt_eras import pyxrt_of

pytestmark = pytest.mark.usefixtures("copy_twin")


@pytest.mark.parametrize("name", ["model", "sim", "2021.2", "2022.2", "2024.1", "2026.1"])
def test_every_card_copies(copy_path, name, monkeypatch):
    if name[0] == "2":
        module, name = pyxrt_of(name, monkeypatch), "xrt:3"
    with open_card(name) as card:
        kernel, data, arguments = prepared(card, copy_path)
        kernel.check()
        for _ in range(2):
            cycles = kernel.launch(**arguments)
            assert (cycles is None) == (name != "sim")
            assert (arguments["results"].read(np.uint32, 1024) == data).all()
            arguments["results"].write(np.zeros(4096, np.uint8))
        if name == "xrt:3":
            assert card.device.index == 3
            assert all(1 <= wait <= 100 for wait in module.waits)


@pytest.mark.parametrize("name", ["fpga", "xrt:", "xrt:a", "xrt:-1", "sim:0", ""])
def test_unknown_card(name):
    with pytest.raises(ValueError, match="card must be model, sim, xrt"):
        open_card(name)


def test_pyxrt_missing_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyxrt", None)
    with pytest.raises(MissingTool, match="pyxrt must be importable.*build_pyxrt.sh RELEASE"):
        open_card("xrt")
    with pytest.raises(ValueError, match="options must be none for card xrt, not trace"):
        open_card("xrt", trace="x")


def test_pyxrt_of_another_python_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyxrt", None)
    monkeypatch.setenv("XILINX_XRT", str(tmp_path))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    ours = f"this is Python {sys.version_info[0]}.{sys.version_info[1]};"
    with pytest.raises(MissingTool, match=f"no XRT was found, {ours}"):
        open_card("xrt")
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "pyxrt.cpython-36m-x86_64-linux-gnu.so").write_text("")
    with pytest.raises(MissingTool, match=f"36m-.*so is for Python 3.6, {ours}"):
        open_card("xrt")


def test_pyxrt_without_the_banks(monkeypatch):
    pyxrt_of("2021.2", monkeypatch).xclbin = object
    with pytest.raises(MissingTool, match=r"XRT must be 2.12 \(2021.2\) or newer"):
        open_card("xrt")


def test_bitstream_missing_is_explained(tmp_path, monkeypatch):
    pyxrt_of("2026.1", monkeypatch)
    with pytest.raises(FileNotFoundError, match="copy.xclbin must be built first"):
        open_card("xrt").load(generate(tmp_path))


def test_arguments_are_checked(tmp_path):
    path = generate(tmp_path, CopyConfig(storage=True))
    with open_card("model") as card:
        kernel, data, good = prepared(card, path)
        for wrong, message in (
            (dict(nothing=1), "argument must be one of program, .*, not 'nothing'"),
            (dict(command_count=-1), "command_count must be an integer in 0..4294967295, not -1"),
            (dict(command_count=2**32), "command_count must be an integer"),
            (dict(command_count=1.0), "command_count must be an integer in .*, not 1.0"),
            (dict(command_count=None), "command_count must be an integer in .*, not None"),
            (dict(results=4096), "results must be a Buffer, not 4096"),
            (dict(results=good["storage"]), "results must be in memory group 0, not 1"),
        ):
            with pytest.raises(ValueError, match=message):
                kernel.launch(**{**good, **wrong})
        for name in good.keys() - {"operands_bytes"}:
            with pytest.raises(ValueError, match=f"{name} must be set, not missing"):
                kernel.launch(**{k: v for k, v in good.items() if k != name})
        # A size that is not given is its buffer's own.
        own = {k: v for k, v in good.items() if k != "operands_bytes"}
        kernel.launch(**own)
        assert (good["storage"].read(np.uint32, 1024) == data).all()
        kernel.launch(**{**good, "command_count": np.uint32(2**32 - 1)})
        assert good["status"].read(STATUS.dtype, 1)["executed"] == 2**32 - 1


def test_buffers_are_bounded(copy_path):
    with open_card("model", banks=[Bank("HBM[0]", 1 << 16)]) as card:
        kernel = card.load(copy_path)
        buffer = kernel.buffer("operands", 100)
        assert buffer.size == 100 == buffer.view.size
        buffer.write(np.arange(3, dtype=np.uint16), 94)
        assert buffer.read("<u2", 3, 94).tolist() == [0, 1, 2]
        assert buffer.read(np.uint8, 0, 100).size == 0
        for wrong in (
            lambda: buffer.write(np.zeros(2), 85),
            lambda: buffer.read(np.uint8, 1, -1),
            lambda: buffer.read(np.uint8, -1, 5),
            lambda: buffer.read(np.uint64, 13),
            lambda: buffer.to_device(1, 100),
        ):
            with pytest.raises(ValueError, match=r"offset must keep -?\d+ bytes inside the 100"):
                wrong()
        for size in (0, -1, 1.5):
            with pytest.raises(ValueError, match="size must be a positive integer"):
                kernel.buffer("operands", size)
        with pytest.raises(ValueError, match="argument must be a pointer, not 'command_count'"):
            kernel.buffer("command_count", 64)


def test_capacity_names_what_fits(copy_path):
    with open_card("model", banks=[Bank("HBM[0]", 1 << 16)]) as card:
        kernel = card.load(copy_path)
        first = kernel.buffer("operands", 4097)
        message = r"at most 57344 bytes for results \(bank HBM\[0\] of 64 KB.*, not 57345"
        with pytest.raises(CapacityError, match=message):
            kernel.buffer("results", 57345)
        del first
        assert kernel.buffer("results", 1 << 16).size == 1 << 16


def test_view_moves_by_hand(copy_path):
    with open_card("model") as card:
        kernel, _, arguments = prepared(card, copy_path)
        arguments["operands"].view[:8] = 7
        kernel.launch(**arguments)
        arguments["results"].from_device()
        assert not (arguments["results"].view[:8] == 7).all()
        arguments["operands"].to_device(4, 4)
        kernel.launch(**arguments)
        arguments["results"].from_device(8)
        assert (arguments["results"].view[:8] == 7).tolist() == [False] * 4 + [True] * 4


def test_stuck_channel_is_named(copy_path):
    fault = Fault(master="m_axi_host", channel="R", cycle=200)
    memory = MemoryConfig(faults=(fault,), max_idle=2000)
    with open_card("sim", memory=memory) as card:
        kernel, _, arguments = prepared(card, copy_path)
        with pytest.raises(
            CardTimeout, match="^launch must end, not stand still: m_axi_host R stands still"
        ):
            kernel.launch(**arguments)


def test_wait_is_bounded(copy_path):
    with open_card("sim", memory=MemoryConfig(max_idle=2**31)) as card:
        kernel, _, arguments = prepared(card, copy_path)
        arguments["operands_bytes"] += breach("no_done")
        with pytest.raises(CardTimeout, match="within 0.2 s.*no AXI channel waits"):
            kernel.launch(timeout_s=0.2, **arguments)


def test_broken_axi_rule_is_an_error(copy_path):
    with open_card("sim") as card:
        kernel, _, arguments = prepared(card, copy_path)
        arguments["operands_bytes"] += breach("boundary")
        with pytest.raises(CardError, match="state 5: clock .* burst must not cross 4 KB"):
            kernel.launch(**arguments)


def test_real_cards_get_advice(copy_path, monkeypatch):
    module = pyxrt_of("2026.1", monkeypatch)
    with open_card("xrt") as card:
        kernel, _, arguments = prepared(card, copy_path)
        module.states = [8, 3, 7, 4]
        kernel.launch(**arguments)
        module.states = [3] * 1000
        with pytest.raises(CardTimeout, match="within 0.01 s.*xbutil examine"):
            kernel.launch(timeout_s=0.01, **arguments)
        kernel, _, arguments = prepared(card, copy_path)
        module.states = [6]
        with pytest.raises(CardError, match="not end in state 6"):
            kernel.launch(**arguments)


def test_a_failed_launch_is_over(copy_path, monkeypatch):
    module = pyxrt_of("2022.2", monkeypatch)
    with open_card("xrt") as card:
        kernel, data, arguments = prepared(card, copy_path)
        module.states = [5]
        with pytest.raises(CardError, match="not end in state 5"):
            kernel.launch(**arguments)
        kernel.launch(**arguments)


def test_a_view_keeps_its_buffer(copy_path):
    with open_card("model") as card:
        buffer = card.load(copy_path).buffer("operands", 100)
        held, part = weakref.ref(buffer.bo), buffer.view[5:]
        assert np.shares_memory(part, np.frombuffer(buffer.bo.map(), np.uint8))
        part[:] = 3
        assert (buffer.view == [0] * 5 + [3] * 95).all()
        del buffer
        gc.collect()
        assert held() is not None
        del part
        gc.collect()
        assert held() is None


@pytest.mark.parametrize("name", ["model", "sim"])
def test_kernel_of_another_config(copy_path, tmp_path, name):
    if name == "model":
        # A twin always agrees with the description it was made from: the card must not.
        class Stranger(CopyTwin):
            def __init__(self, description):
                super().__init__(SimpleNamespace(config_hash=description.config_hash ^ 1))

        KERNELS["copy"] = Stranger
    else:
        values = json.loads(copy_path.read_text())
        values["config_hash"] ^= 1
        (tmp_path / "copy.v").write_text((copy_path.parent / "copy.v").read_text())
        copy_path = tmp_path / "copy.json"
        copy_path.write_text(json.dumps(values))
    with open_card(name) as card, pytest.raises(HashMismatch, match="config_hash must be 0x"):
        card.load(copy_path).check()


def test_kernel_that_writes_no_status(copy_path):
    class Silent(CopyTwin):
        def execute(self, arguments, memory):
            pass

    KERNELS["copy"] = Silent
    with open_card("model") as card, pytest.raises(CardError, match="status.magic must be 0x524c"):
        card.load(copy_path).check()


def test_trace_is_complete_after_close(copy_path, tmp_path):
    with open_card("sim", trace=tmp_path / "copy.vcd") as card:
        card.load(copy_path).check()
    assert (tmp_path / "copy.vcd").read_text().rstrip().splitlines()[-1]
