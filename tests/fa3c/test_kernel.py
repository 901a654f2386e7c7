"""The kernel ``a3c`` on card ``sim``, against its twin: every byte after every launch."""

from dataclasses import replace

import numpy as np
import pytest
from fa3c.kernel_programs import RandomRounds, Rig
from fa3c.modelled import CLOCKS
from fa3c.tasks import blank_task, small_config
from programs import status_of
from replay.kernels import opened

from hw.fa3c.records import A3C_STATUS, Error
from hw.shell.axi import EngineConfig
from sim.card.memory import MemoryConfig

#: The one that is compiled in the quick tests, and where else a kernel on card ``sim`` is needed.
SMALL = small_config(
    lanes=1,
    units=("any", "train"),
    rms_units=1,
    drain_words=1,
    engine=EngineConfig(data_width=128, depth=64, burst_beats=32, bursts=4),
)
#: Two convolutions: errors go back through the second, whose taps lie over one another.
WIDE = small_config(
    height=6,
    width=6,
    convolutions=((16, 2, 1), (16, 3, 2)),
    lanes=1,
    rms_units=2,
    engine=EngineConfig(depth=32, burst_beats=8, bursts=4),
)
NARROW = small_config(
    lanes=2,
    units=("any",),
    batch=1,
    rms_units=1,
    drain_words=1,
    engine=EngineConfig(data_width=128, depth=64, burst_beats=32, bursts=4),
)
#: More units than the status has clocks of, more snapshots than a word has bits.
FIVE = small_config(
    lanes=1,
    units=("infer", "train", "any", "any", "train"),
    snapshots=34,
    rms_units=1,
    drain_words=1,
    engine=SMALL.engine,
)
#: FA3C's alternatives, with BW of both kinds of layers and rows of a beat and of several.
ALT1 = replace(WIDE, units=("any", "train"), lanes=2, layout="alt1")
ALT2 = replace(SMALL, layout="alt2", convolutions=WIDE.convolutions, height=6, width=6)
#: Theta and squares on masters of their own, rows over four local masters.
APART = replace(WIDE, units=("any",), lanes=1, global_masters=2, local_masters=4)
KERNELS = {
    "apart": APART,
    "alt1": ALT1,
    "alt2": ALT2,
    "small": SMALL,
    "wide": WIDE,
    "narrow": NARROW,
    "five": FIVE,
}


@pytest.mark.parametrize(
    "name, stall, seed",
    [
        ("small", 0.2, 11),
        *(
            pytest.param(*x, marks=pytest.mark.long)
            for x in (
                ("wide", 0.2, 11),
                ("narrow", 0.0, 23),
                ("five", 0.2, 11),
                ("alt1", 0.2, 11),
                ("alt2", 0.2, 11),
                ("apart", 0.2, 11),
            )
        ),
    ],
)
def test_sim_equals_model(name, stall, seed):
    config, seen = KERNELS[name], set()
    source = RandomRounds(config, seed)
    memory = MemoryConfig(stall=stall, seed=1, max_idle=100_000)
    with opened("sim", config, memory=memory) as kernel, opened("model", config) as twin:
        rigs = [Rig(kernel, config), Rig(twin, config)]
        for number in range(30):
            tasks = source.tasks(spoilt=number % 3 == 2)
            launch = source.round(tasks, number % 5 == 4) if number % 8 else source.images()
            got, expected = (rig.run(launch) for rig in rigs)
            shell, _ = status_of(expected["status"], A3C_STATUS)
            for part, data in expected.items():
                different = np.flatnonzero(got[part] != data)
                assert not len(different), (
                    f"launch {number} ({shell}): {part} from byte {different[0]:#x} on"
                )
            if number % 8 and not shell["error"]:
                source.reference.execute(tasks)
            seen.add(Error(shell["error"]))
    assert {Error.NONE, Error.NUMBER} < seen and len(seen) > 4, seen


@pytest.mark.long
def test_clocks():
    """Those of the last ROUND that was executed; a SYNC moves a row a clock, an INFER waits."""
    source, latency = RandomRounds(WIDE, seed=1), 40
    memory = MemoryConfig(read_latency=latency, write_latency=latency)
    sync = blank_task(2, snapshot=0)
    infer = blank_task(0, unit=2, count=1, step=WIDE.steps)
    with opened("sim", WIDE, memory=memory) as kernel:
        rig = Rig(kernel, WIDE)

        def run(*launch):
            rig.run(launch[0] if not isinstance(launch[0], dict) else source.round(launch))
            shell, own = status_of(rig.buffers["status"].view, A3C_STATUS)  # not masked
            return int(shell["cycles"]), *(own[name].tolist() for name in CLOCKS)

        run(source.images())
        cycles, whole, update, units = run(sync)
        assert WIDE.theta_rows < update < whole < min(update + 10, cycles)
        assert whole < WIDE.theta_rows + 10 * latency and units == [0] * 4
        synced = update
        cycles, whole, update, units = run(infer)
        alone = units[2]
        assert 0 < alone < whole < min(alone + 10, cycles)
        assert update == 0 and units == [0, 0, alone, 0]
        assert run(infer | dict(unit=1))[1:] == (whole, update, units)  # refused
        _, whole, update, units = run(sync, infer)
        assert abs(update - synced) < 20  # another list of other length
        assert update + alone - 3 * latency < units[2] < whole < update + alone
