"""hw.shell.burst: where requests are cut, against a rule that hypothesis checks first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from later import crossed
from shell.axi_rules import cut

from hw.shell.axi import EngineConfig
from hw.shell.burst import BurstSplitter


@given(st.integers(0, 1 << 20), st.integers(1, 600), st.sampled_from([1, 2, 16]), st.data())
def test_cut(first, beats, burst_beats, data):
    """All beats once and in order, in blocks of ``burst_beats``, as few as there can be."""
    beat_bytes = data.draw(st.sampled_from([4, 64]))
    bursts = cut(first * beat_bytes, beats, beat_bytes, burst_beats)
    numbers = [address // beat_bytes + i for address, more in bursts for i in range(more + 1)]
    assert numbers == list(range(first, first + beats))
    blocks = [{(a // beat_bytes + i) // burst_beats for i in range(m + 1)} for a, m in bursts]
    assert all(len(block) == 1 for block in blocks)
    assert len(set().union(*blocks)) == len(bursts)


_CONFIGS = {
    "512": {},
    "small": dict(data_width=32, burst_beats=4),
    "single": dict(data_width=32, burst_beats=1),
}


@pytest.mark.parametrize("config, source_gap, sink_gap", crossed(_CONFIGS, (0, 0.5), (0.5, 0)))
def test_splitter(simulate, config, source_gap, sink_gap):
    simulate(
        BurstSplitter(EngineConfig(**config)),
        "shell.burst_bench",
        config=config,
        seed=1,
        source_gap=source_gap,
        sink_gap=sink_gap,
    )
