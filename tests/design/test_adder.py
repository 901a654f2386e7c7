"""The small design on the cards ``sim`` (Verilated kernel) and ``model`` (its twin)."""

from itertools import cycle

import numpy as np
import pytest
from design.adder.commands import Opcode
from design.adder.estimate import cycles
from design.adder.records import ADDER_ERRORS, Error
from design.adder_programs import BAD, AdderProgram, RandomSums, Rig, kernel_config, status_of
from later import later
from marks import long_but
from programs import BLANK
from replay.kernels import opened

from host.programs.launcher import CommandError, Launcher
from sim.card.memory import Fault, MemoryConfig

#: Sixteen numbers a beat of results for one of vectors, and queues in block RAM; both alike.
KERNELS = {"narrow": kernel_config(512, 32, depth=128), "even": kernel_config(128, 128)}


@pytest.mark.parametrize("name, stall", [later("narrow", 0.3), ("even", 0.1)])
def test_sim_equals_model(name, stall):
    """Every byte of every buffer after every launch; every error on the way."""
    config, seen, bads = KERNELS[name], set(), cycle(BAD)
    memory = MemoryConfig(stall=stall, seed=1, max_idle=100_000)
    source = RandomSums(config, seed=len(name))
    with opened("sim", config, memory=memory) as kernel, opened("model", config) as twin:
        rigs = [Rig(kernel), Rig(twin)]
        for number in range(40):
            bad = next(bads) if number % 4 else None
            launch = source.program(bad)
            got, expected = (rig.run(launch) for rig in rigs)
            shell, _ = status_of(expected["status"])
            for part, data in expected.items():
                different = np.flatnonzero(got[part] != data)
                assert not len(different), (
                    f"program {number} ({bad}, {shell}): {part} from byte {different[0]:#x} on"
                )
            executed = launch.command_count - (2 if bad else 0)
            assert (shell["executed"], shell["error"]) == (executed, BAD.get(bad, Error.NONE))
            seen.add(Error(shell["error"]))
    # The rest: no command has operands; of a launch, of memory, and before the first BIAS.
    rest = {Error.OPERANDS, Error.PROGRAM, Error.POINTER, Error.AXI, Error.BIAS}
    assert seen == {Error(code) for code in ADDER_ERRORS} - rest


@pytest.mark.parametrize("card", ["model", "sim"])
def test_sums_by_hand(card):
    """Words wrap, zeros fill the last beat of results, and nothing behind it is written."""
    config = KERNELS["even"]
    with opened(card, config) as kernel:
        kernel.check()
        rig, program = Rig(kernel), AdderProgram(config)
        program.bias(5)
        program.add([1, 0xFFFF_FFFF, 3, 4, 0xFFFF_FFF0], [10, 0, 30, 40, 50])
        out = rig.run(program.launch())
    shell, own = status_of(out["status"])
    assert (shell["executed"], shell["error"]) == (2, Error.NONE)
    assert (own["added"], own["bias"], own["given"]) == (5, 5, 1)
    assert out["results"][:32].view("<u4").tolist() == [16, 4, 38, 49, 39, 0, 0, 0]
    assert (out["results"][32:] == BLANK).all()


@pytest.mark.parametrize("name", long_but(["even"], KERNELS))
def test_clocks(name):
    """As estimated: a beat of x and one of y in two clocks, from the first to the last."""
    config = KERNELS[name]
    latencies = dict(read_latency=20, write_latency=10)
    burst = config.engine.burst_beats * config.engine.beat_bytes // 4
    counts = [1, 2, burst // 2 + 1, *range(burst, config.capacity + 1, 2 * burst)]
    assert len(counts) > 6
    with opened("sim", config, memory=MemoryConfig(**latencies)) as kernel:
        rig = Rig(kernel)
        for count in counts:
            program = AdderProgram(config)
            program.bias(0)
            program.add(range(count), range(count))
            rig.run(program.launch())
            _, own = status_of(rig.buffers["status"].view)  # not masked
            assert own["cycles"] == cycles(config, count, **latencies), count


@pytest.mark.parametrize(
    "master, channel, skip",
    [
        # Of the second ADD: the first beat of its vectors, one inside, the last of all.
        *(("m_axi_vectors", "R", 6 + beat) for beat in (0, 77, 499)),
        # The answer to its first burst of results, and to the last.
        *(("m_axi_host", "B", 1 + burst) for burst in (0, 31)),
    ],
)
def test_memory_fails_an_add(master, channel, skip):
    """It ends with AXI and is not counted; what came before it stands; it may be repeated."""
    config, added = KERNELS["even"], []
    fault = Fault(master=master, channel=channel, kind="error", skip=skip, count=1)
    with opened("sim", config, memory=MemoryConfig(faults=(fault,))) as kernel:
        rig, program = Rig(kernel), AdderProgram(config)
        program.bias(1)
        for count in (10, 1000):
            program.add(range(count), range(count))
        for executed, error in ((2, Error.AXI), (3, Error.NONE)):
            out = rig.run(program.launch())
            shell, own = status_of(out["status"])
            assert (shell["executed"], shell["error"]) == (executed, error)
            assert out["results"][:40].view("<u4").tolist() == [2 * n + 1 for n in range(10)]
            assert (out["results"][4064:] == BLANK).all()
            added.append(own["added"])
    assert added == [10, 1020]


@pytest.mark.parametrize("card", ["model", "sim"])
def test_from_the_host(card):
    """What a folder ``host/<design>`` would be built of."""
    x, y = np.arange(20, dtype="<u4"), np.arange(100, 120, dtype="<u4")
    with opened(card, KERNELS["even"]) as kernel:
        vectors = {name: kernel.buffer(name, 4096) for name in ("x", "y")}
        for name, vector in (("x", x), ("y", y)):
            vectors[name].write(vector)
        launcher = Launcher(kernel, pointers=vectors)
        with pytest.raises(CommandError, match=r"command 0 \(ADD\) must be valid, not bias"):
            launcher.run([(Opcode.ADD, {"count": 20})], results_bytes=128)
        raw = launcher.run(
            [(Opcode.BIAS, {"bias": 3}), (Opcode.ADD, {"count": 20, "destination": 64})],
            results_bytes=192,
        )
        np.testing.assert_array_equal(raw[64:144].view("<u4"), x + y + 3)
        assert launcher.status["added"] == 20
