"""The kernel ``a3c`` on card ``sim``, against its twin: every byte after every launch."""

import numpy as np
import pytest
from fa3c.kernel_programs import RandomRounds, Rig
from fa3c.tasks import small_config
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
WIDE = small_config(lanes=1, rms_units=2, engine=EngineConfig(depth=32, burst_beats=8, bursts=4))
NARROW = small_config(
    lanes=2,
    units=("any",),
    batch=1,
    rms_units=1,
    drain_words=1,
    engine=EngineConfig(data_width=128, depth=64, burst_beats=32, bursts=4),
)
KERNELS = {"small": SMALL, "wide": WIDE, "narrow": NARROW}


@pytest.mark.parametrize(
    "name, stall, seed",
    [
        ("small", 0.2, 11),
        *(
            pytest.param(*x, marks=pytest.mark.long)
            for x in (("wide", 0.2, 11), ("narrow", 0.0, 23))
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
