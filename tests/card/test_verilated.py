"""The Verilated kernel on its harness: timing, AXI rules, faults, waveforms."""

import re

import pytest
from card.copy_kernel import BREACHES, CopyConfig, breach, generate
from card.copy_session import COMPLETED, ERROR, NORESPONSE, Session

from sim.card.memory import CHANNELS, Fault, MemoryConfig
from sim.card.verilated import Outcome


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("copy"))


def cycles(path, size, **memory):
    session = Session(path, size, memory=MemoryConfig(**memory))
    assert session.launch(size) == COMPLETED
    return session.run.cycles


def test_latency_and_bandwidth_reach_the_kernel(path):
    one = cycles(path, 64)
    # One read and two writes in turn (data, status).
    assert cycles(path, 64, read_latency=164) == one + 100
    assert cycles(path, 64, write_latency=132) == one + 200
    # 15 of the burst's 16 beats wait three clocks more, on each side, and one of the status.
    full = cycles(path, 1024)
    assert full + 90 <= cycles(path, 1024, bandwidth=0.25) <= full + 93
    stalled = {cycles(path, 4096, stall=0.5, seed=seed) for seed in (1, 1, 2)}
    assert len(stalled) == 2 and min(stalled) > cycles(path, 4096)


RULES = {
    "boundary": "AR: burst must not cross 4 KB",
    "outside": "AR: access must stay inside one buffer of this master",
    "unaligned": "AR: address must be aligned",
    "size": "AR: beats must be as wide as the bus",
    "burst": "AR: bursts must be INCR",
    "id": "AR: id must be 0",
    "valid": "AR: valid fell before ready",
    "payload": "AR: payload changed before ready",
    "wlast_missing": "W: last must be 1 on beat 16 of 16, not 0",
    "wlast_early": "W: last must be 0 on beat 1 of 16, not 1",
    "strobe": "W: strobes must be all ones",
    "gap": "W: valid must not pause inside a burst",
    "w_payload": "W: payload changed before ready",
    "access": "AW: buffer must not be written",
}


@pytest.mark.parametrize("name", RULES)
def test_broken_rule_is_an_error_with_cycle_and_channel(path, name):
    # What must not change before ready needs a ready that comes late.
    stall = 0.6 if "before ready" in RULES[name] else 0.0
    session = Session(path, memory=MemoryConfig(stall=stall, seed=1))
    assert session.launch(4096 + breach(name)) == ERROR
    assert session.run.report().startswith("clock ")
    assert f"m_axi_host {RULES[name]}" in session.run.report()
    with pytest.raises(RuntimeError, match="kernel must be idle, not VIOLATION .*: load it again"):
        session.run.start()
    session.device.load_xclbin(str(path))
    assert session.launch(4096) == COMPLETED


def test_strobes_of_a_master_of_four_bytes(tmp_path):
    """All of them are looked at where they do not fill a byte."""
    narrow = generate(tmp_path, CopyConfig(data_width=32))
    assert Session(narrow).launch(4096) == COMPLETED
    session = Session(narrow)
    assert session.launch(4096 + breach("strobe")) == ERROR
    assert RULES["strobe"] in session.run.report()


def test_read_of_bytes_still_being_written(path):
    session = Session(path)
    session.bos["results"] = session.bos["operands"]
    assert session.launch(4096) == COMPLETED
    assert session.launch(4096 + breach("hazard")) == ERROR
    assert "AR: read must wait for the answer of a write to its bytes" in session.run.report()


def test_every_breach_is_tested():
    assert {*RULES, "none", "hazard", "no_done"} == {*BREACHES}


@pytest.mark.parametrize("channel", CHANNELS)
def test_stuck_channel_is_named(path, channel):
    fault = Fault(master="m_axi_host", channel=channel, cycle=300)
    session = Session(path, 1 << 14, memory=MemoryConfig(faults=(fault,), max_idle=1000))
    assert session.launch(1 << 14) == NORESPONSE
    first = session.run.report().split(";")[0]
    assert re.match(rf"m_axi_host {channel} stands still: .* last transfer 1\d\d\d clocks", first)


@pytest.mark.parametrize("channel", CHANNELS)
def test_launch_goes_on_after_a_stuck_channel(path, channel):
    size = 1 << 14
    free = cycles(path, size)
    fault = Fault(master="m_axi_host", channel=channel, cycle=300, until=900)
    session = Session(path, size, memory=MemoryConfig(faults=(fault,), max_idle=1000))
    assert session.launch(size) == COMPLETED
    # The kernel comes to each channel once in some 130 clocks, then waits for the rest of the 600.
    assert free + 450 < session.run.cycles <= free + 600
    assert (session.bytes("results") == session.data).all()
    assert session.launch(size) == COMPLETED and session.run.cycles == free


def reset_after(session, clocks):
    """A launch of 4096 bytes that a reset ends; the kernel, without the host around it."""
    session.start(4096)
    engine = session.device._kernel
    assert engine.advance(clocks) is Outcome.RUNNING
    engine.reset()
    return engine


@pytest.mark.parametrize("clocks", [1, 60, 150, 300])
def test_a_launch_after_a_reset_is_as_the_first(path, clocks):
    """In as many clocks, with the same bytes, whatever memory owed: the arguments are written
    again, and beats that were asked for before are not there."""
    session = Session(path)
    first = cycles(path, 4096)
    reset_after(session, clocks)
    assert session.launch(4096) == COMPLETED and session.run.cycles == first
    assert (session.bytes("results") == session.data).all()


def test_memory_keeps_its_bytes_in_a_reset(path):
    session = Session(path)
    engine = reset_after(session, 300)
    before = session.bytes("results").copy()
    assert not (before == session.data).all() and (before[:64] == session.data[:64]).all()
    assert engine.outcome is Outcome.DONE and not any(
        state.pending for state in engine.channels().values()
    )
    assert (session.bytes("results") == before).all()


def test_an_advance_ends_with_the_launch(path):
    session, first = Session(path), cycles(path, 64)
    session.start(64)
    engine = session.device._kernel
    assert engine.advance(first - 1) is Outcome.RUNNING
    assert engine.advance(100) is Outcome.DONE and engine.cycles == first
    assert engine.advance(100) is Outcome.DONE and engine.cycles == first


def test_a_broken_rule_outlasts_a_reset(path):
    session = Session(path)
    assert session.launch(4096 + breach("id")) == ERROR
    session.device._kernel.reset()
    assert session.device._kernel.outcome is Outcome.VIOLATION


@pytest.mark.parametrize("wait, state", [(200, COMPLETED), (201, NORESPONSE)])
def test_standing_still_begins_after_max_idle_clocks(path, wait, state):
    """The only read's data moves ``wait`` clocks after its address, and nothing in between."""
    session = Session(path, memory=MemoryConfig(read_latency=wait, max_idle=200))
    assert session.launch(64) == state


@pytest.mark.parametrize("order", ["together", "data"])
def test_a_master_that_waits_for_awready_stands_still(path, order):
    """This one does, and so is no kernel for every slave. # hw_core 4"""
    session = Session(path, memory=MemoryConfig(write_order=order, max_idle=1000))
    assert session.launch(4096) == NORESPONSE
    assert session.run.report().startswith("m_axi_host AW stands still: valid 1, ready 0")


def test_write_wait_reaches_the_kernel(path):
    # Two writes in turn: an address and a first beat of each.
    assert cycles(path, 64, write_wait=50) == cycles(path, 64) + 4 * 50


def test_pauses_reach_the_kernel(path):
    free = cycles(path, 1 << 14)
    paused = {cycles(path, 1 << 14, pause=100, period=1000, seed=seed) for seed in (1, 1, 2)}
    # Of 2117 clocks; the kernel waits for one channel at a time.
    assert len(paused) == 2 and free + 100 < min(paused) <= max(paused) < free + 2000


def test_kernel_that_stands_still_by_itself(path):
    session = Session(path, memory=MemoryConfig(max_idle=1000))
    assert session.launch(4096 + breach("no_done")) == NORESPONSE
    assert "no AXI channel waits" in session.run.report()


@pytest.mark.parametrize(
    "pattern, replacement, message",
    [
        ("assign s_axi_control_awready = .*;", "assign s_axi_control_awready = 0;",
         "s_axi_control: write of 0x4 takes over 1000 clocks"),
        ("assign s_axi_control_arready = .*;", "assign s_axi_control_arready = 0;",
         "s_axi_control: read of 0xc takes over 1000 clocks"),
        (r"\bdone_flag <= .*;", "done_flag <= 0;", "s_axi_control: interrupt without ap_done"),
    ],
)  # fmt: skip
def test_broken_control_is_named(path, tmp_path, pattern, replacement, message):
    verilog, count = re.subn(pattern, replacement, path.with_suffix(".v").read_text())
    assert count
    (tmp_path / "copy.v").write_text(verilog)
    (tmp_path / "copy.json").write_text(path.read_text())
    session = Session(tmp_path / "copy.json")
    if "write" in message:
        with pytest.raises(RuntimeError, match=message):
            session.run.start()
    else:
        assert session.launch(64) == ERROR
        assert message in session.run.report()


def test_error_responses_reach_the_kernel(path):
    # The copy kernel does not look at responses; that the launch completes is the point.
    faults = tuple(Fault(master="m_axi_host", channel=c, kind="error") for c in "BR")
    assert Session(path, memory=MemoryConfig(faults=faults)).launch(4096) == COMPLETED


def test_fault_on_an_unknown_master(path):
    fault = Fault(master="m_axi_other", channel="R")
    with pytest.raises(ValueError, match="master must be one of m_axi_host, not 'm_axi_other'"):
        Session(path, memory=MemoryConfig(faults=(fault,)))


def test_trace_is_written_on_request(path, tmp_path):
    trace = tmp_path / "copy.vcd"
    session = Session(path, trace=trace)
    assert session.launch(128) == COMPLETED
    session.device.close()
    assert "m_axi_host_araddr" in trace.read_text()


def test_y_trace_ends_after_some_launches(path, tmp_path):
    """With the last of them, or with the card: all clocks until then, and none behind."""

    def last(launches, limit):
        trace = tmp_path / f"{launches} {limit}.vcd"
        session = Session(path, trace=trace, trace_launches=limit)
        for _ in range(launches):
            assert session.launch(128) == COMPLETED
        session.device.close()
        return int(re.findall(r"^#([0-9]+)$", trace.read_text(), re.MULTILINE)[-1])

    one, two = last(1, None), last(2, None)
    assert last(1, 1) == last(3, 1) == one < two == last(3, 2) == last(2, 9)
