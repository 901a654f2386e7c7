"""sim.card.xrt: pyxrt's names and limits, the same on twin and RTL."""

import numpy as np
import pytest
from card.copy_kernel import CopyConfig, CopyTwin, generate
from card.copy_session import COMPLETED, ERROR, FROM, TIMEOUT, TO, Session

from hw.shell.status_block import STATUS
from sim.card import xrt
from sim.card.memory import Bank, MemoryConfig
from sim.model.kernels import KERNELS


@pytest.fixture(autouse=True)
def twin(monkeypatch):
    monkeypatch.setitem(KERNELS, "copy", CopyTwin)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("copy"))


@pytest.mark.parametrize(
    "stalls", [{}, dict(stall=0.4), dict(pause=10, period=30)], ids=["none", "random", "solid"]
)
@pytest.mark.parametrize("config", [{}, dict(data_width=128), dict(storage=True, burst=64)])
def test_model_and_sim_give_the_same_bytes(tmp_path, config, stalls):
    path = generate(tmp_path, CopyConfig(**config))
    memory = MemoryConfig(**stalls, seed=3)
    sim, model = (Session(path, 1 << 14, backend=b, memory=memory) for b in ("sim", "model"))
    for size in (0, 64, 4096, 1 << 14, 64 * 17):
        assert (sim.launch(size), model.launch(size)) == (COMPLETED, COMPLETED)
        for name in sim.bos:
            got, expected = sim.bytes(name).copy(), model.bytes(name)
            if name == "status":
                cycles = got.view(STATUS.dtype)["cycles"][0]
                assert 0 < cycles < sim.run.cycles < cycles + 100
                got.view(STATUS.dtype)["cycles"] = 0
            assert (got == expected).all(), (name, size)
    assert model.run.cycles is None


def test_wait_returns_after_its_time_and_state_goes_on(path):
    session = Session(path, 1 << 22)
    run = session.start(1 << 22)
    assert run.wait(1) == TIMEOUT
    assert run.cycles is None
    with pytest.raises(RuntimeError, match="must be idle, not RUNNING"):
        xrt.run(session.kernel).start()
    for _ in range(10_000):
        if run.state() == COMPLETED:
            break
    assert run.state() == COMPLETED and run.wait(1) == COMPLETED and run.cycles > 1 << 16


@pytest.mark.parametrize("value", [7, -1, 2**31 - 1, -(2**31), np.int64(7), np.float32(1.0), True])
def test_set_arg_takes_what_pybind_takes(path, value):
    session = Session(path, backend="model")
    session.run.set_arg(4, value)
    assert session.run._values["command_count"] == int(value) % 2**32


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**40, 1.0, np.uint32(2**31), None, "5"])
def test_set_arg_refuses_and_call_swallows_what_pybind_refuses(path, value):
    session = Session(path, backend="model")
    with pytest.raises(TypeError):
        session.run.set_arg(4, value)
    run = session.kernel(*session.bos.values(), value, 64, 64)
    assert run._values["command_count"] == 0 and run.wait() == COMPLETED


def test_buffers_keep_two_copies(path):
    session = Session(path, backend="model")
    bo = session.bos["operands"]
    bo.write(b"\x01\xff", 3)
    assert bo.read(2, 3).tolist() == [1, -1] and bo.read(2, 3).dtype == np.int8
    bo.sync(FROM, 1, 4)
    assert bo.read(2, 3).tolist() == [1, session.data.view(np.int8)[4]]
    bo.sync(FROM)
    assert (np.frombuffer(bo.map(), np.uint8) == session.data).all()
    for wrong in (
        lambda: bo.write(b"12", 4095),
        lambda: bo.read(1, -1),
        lambda: bo.sync(TO, 1, 4096),
    ):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(TypeError):
        xrt.bo(session.device, 64)
    with pytest.raises(RuntimeError, match="flags must be"):
        xrt.bo(session.device, 64, xrt.bo.p2p, 0)


def test_part_of_a_buffer(path):
    session = Session(path)
    assert session.launch(2048) == COMPLETED
    whole = session.bos["operands"]
    part = xrt.bo(whole, 1024, 2048)
    assert (part.size(), part.address()) == (1024, whole.address() + 2048)
    session.bos["operands"] = part
    assert session.launch(1024) == COMPLETED
    assert (session.bytes("results")[:1024] == session.data[2048:3072]).all()
    # The kernel may touch the part alone.
    assert session.launch(2048) == ERROR
    with pytest.raises(RuntimeError):
        xrt.bo(whole, 1024, 4096 - 1023)


def test_banks(tmp_path):
    path = generate(tmp_path, CopyConfig(storage=True))
    banks = (Bank("DDR[0]", 1 << 16), Bank("DDR[1]", 1 << 20))
    session = Session(path, backend="model", banks=banks)
    assert [session.kernel.group_id(i) for i in range(5)] == [0, 0, 0, 0, 1]
    assert session.bos["storage"].address() == session.bos["program"].address() + (1 << 16)
    with pytest.raises(RuntimeError, match="no memory"):
        session.kernel.group_id(5)
    with pytest.raises(RuntimeError, match="storage must be in bank 1, not 0"):
        session.run.set_arg(4, session.bos["program"])
    with pytest.raises(MemoryError, match=r"at most 49152 bytes in bank DDR\[0\]"):
        xrt.bo(session.device, 1 << 16, xrt.bo.normal, 0)
    del session.bos["program"]
    assert xrt.bo(session.device, 4096, xrt.bo.normal, 0).address() == 1 << 36
    moved = Session(path, backend="model", banks=banks, connectivity={"m_axi_storage": 0})
    assert moved.kernel.group_id(4) == 0


def test_names_around_the_kernel(path):
    device = xrt.device(backend="model")
    binary = xrt.xclbin(str(path))
    context = xrt.hw_context(device, device.register_xclbin(binary))
    assert device.get_xclbin_uuid().to_string() == binary.get_uuid().to_string()
    assert [(k.get_name(), k.get_num_args()) for k in binary.get_kernels()] == [("copy", 9)]
    assert binary.get_mems()[1].get_tag() == "DDR[1]"
    assert binary.get_mems()[1].get_size_kb() == 16 << 20
    assert xrt.kernel(context, "copy:{copy_1}").group_id(0) == 0
    with pytest.raises(RuntimeError, match="No such kernel 'other'"):
        xrt.kernel(context, "other")
    with pytest.raises(ValueError, match="backend must be sim or model, not 'rtl'"):
        xrt.device(backend="rtl")


def test_kernel_without_twin_is_named(path, monkeypatch):
    monkeypatch.delitem(KERNELS, "copy")
    with pytest.raises(ValueError, match="kernel must be one with a twin .*, not 'copy'"):
        Session(path, backend="model")
