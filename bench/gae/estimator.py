"""Clocks of HEPPO's array in the RTL: trajectories of one length and of many, k = 1, 2, 3; and
of rollouts on the whole kernel."""

import numpy as np
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import flipped

from bench import row
from host.advantages.estimator import AdvantageEstimator
from host.advantages.slots import pack
from host.cards import open_card
from host.explore.launch_clocks import LIMIT_S, launch_clocks
from host.kernels import generate
from hw.errors import Failure
from hw.gae.array.estimator import Estimator
from hw.gae.config import GaeConfig
from hw.gae.design import HEPPO_WIDTHS
from hw.gae.records import Kind
from sim.model.gae.array.estimator import Estimator as Twin
from sim.streams import StreamUnit
from system.tools import BUILD_DIRECTORY

__all__ = ["BOARDS", "kernel_rows", "measure", "measure_kernel", "rows"]

ROWS, STEPS = 64, 1024
_SOURCE = "RTL under Verilator, start to done"
#: Boards whose whole kernels are measured. HEPPO's is the ZCU106.
BOARDS = "zcu106", "u200"
_LAUNCH = "Verilog on the simulated card, default memory: a launch of PUSH, ESTIMATE, PULL"

#: Raw discounts, gamma 0.99 and gamma * lambda 0.9405, and scales in units of a word for a code.
_COEFFICIENTS = dict(gamma=64881, decay=61637)
_UNITS = dict(reward_scale=1 << 20, value_scale=1 << 20)


class _Streams(wiring.Component):
    """An Estimator whose streams have the names that ``StreamUnit`` drives."""

    def __init__(self, config):
        self.estimator = Estimator(config)
        members = dict(self.estimator.signature.members)
        names = {"push": "request", "o": "response"}
        super().__init__({names.get(name, name): member for name, member in members.items()})

    def elaborate(self, platform):
        m = Module()
        m.submodules.estimator = estimator = self.estimator
        for name, member in self.estimator.signature.members.items():
            inner = getattr(estimator, name)
            if name == "push":
                wiring.connect(m, flipped(self.request), inner)
            elif name == "o":
                wiring.connect(m, inner, flipped(self.response))
            elif member.flow == wiring.In:
                m.d.comb += inner.eq(getattr(self, name))
            else:
                m.d.comb += getattr(self, name).eq(inner)
        return m


def measure(config, kinds, *, seed=0):
    """Measures an ESTIMATE of random codes in the RTL; Failure unless results equal the twin's.

    ``kinds`` [slots, rows] has the ``Kind`` of each slot of each row of the array.

    Returns ``(clocks, steps, shared, early)``. ``clocks`` are those from start to done, ``steps``
    is the number of steps that entered the rows, ``shared`` the number of slots that every row has,
    and ``early`` the number of steps that entered the rows in the first ``shared`` clocks.
    """
    rng = np.random.default_rng(seed)
    rewards, values = rng.integers(-config.code_limit, config.code_limit, (2, *kinds.shape))
    twin, unit = Twin(config), StreamUnit(_Streams(config), name="estimator")
    power = round((_COEFFICIENTS["decay"] / 65536) ** config.lookahead * 65536)
    settings = dict(**_COEFFICIENTS, **_UNITS, decay_power=power)
    twin.push(kinds, rewards, values)
    twin.estimate(**settings)
    for name, value in settings.items():
        unit.set(name, value)

    def pulse(name):
        unit.set(name, 1)
        unit.step()
        unit.set(name, 0)

    unit.set("request__valid", 1)
    width = config.code_width
    for slot in range(len(kinds)):
        fields = [(kinds, 2), (rewards, width), (values, width)]
        unit.set("request__payload", _word(fields, slot))
        unit.step()
    unit.set("request__valid", 0)
    pulse("start")
    shared = int((kinds != Kind.NONE.value).all(axis=1).sum())
    unit.step(max(0, shared - 1))
    early = unit.get("busy") if shared else 0
    unit.wait("done", 1, 2 * len(kinds) + 100)
    unit.step()
    unit.set("pull_count", len(kinds))
    pulse("pull")
    results, _ = unit.run([], responses=len(kinds))
    fields = [(part, config.result_width) for part in twin.pull(len(kinds))]
    for slot, result in enumerate(results):
        if result != _word(fields, slot):
            raise Failure(f"slot {slot} must be as the twin's, not {result:#x}")
    clocks, busy = unit.get("cycles"), unit.get("busy")
    unit.close()
    return clocks, busy, shared, early


def _word(fields, slot):
    """Fields, (array [slots, rows], width), of all rows of a slot side by side."""
    word, offset = 0, 0
    for position in range(fields[0][0].shape[1]):
        for values, width in fields:
            word |= (int(values[slot, position]) & (1 << width) - 1) << offset
            offset += width
    return word


def rows():
    """The list of rows gae_cycles, elements_per_cycle (steps a clock) and row_occupancy (the share
    of clocks in which rows take steps), for k = 1, 2, 3 steps of lookahead; full stacks also
    with words of 35 bits."""
    result = []
    full = np.full((STEPS + 1, ROWS), Kind.STEP.value, np.uint8)
    full[-1] = Kind.BOOTSTRAP.value
    # As many trajectories as the stack holds; their lengths differ by a factor of up to eight.
    lengths = np.random.default_rng(0).integers(16, 129, 800)
    for lookahead in (1, 2, 3):
        config = GaeConfig(rows=ROWS, depth=STEPS, lookahead=lookahead, **HEPPO_WIDTHS)
        result += _full(config, full, "")
        kinds = pack(lengths, [False] * len(lengths), ROWS).kinds
        clocks, steps, shared, early = measure(config, kinds)
        case = f"{len(lengths)} trajectories of 16 to 128 steps, {ROWS} rows, k={lookahead}"
        result += [
            row("gae", case, "gae_cycles", clocks, "cycles", source=_SOURCE),
            row("gae", case, "row_occupancy", round(early / (ROWS * shared), 3), "",
                reference="at least", reference_value=0.95,
                source="RTL under Verilator: steps a row and clock, until a row is given no more"),
            row("gae", case, "row_occupancy_whole", round(steps / (ROWS * clocks), 3), "",
                source="the same, start to done"),
        ]  # fmt: skip
    # HEPPO's words have 32 bits; codes of 16 bits have the next wider ones.
    wide = GaeConfig(rows=ROWS, depth=STEPS, lookahead=2, code_width=16, result_width=16)
    return [*result, *_full(wide, full, f", words of {wide.word.width} bits")]


def _full(config, kinds, words):
    """Rows of full stacks; ``words`` ends the case."""
    case = f"{ROWS} x {STEPS} steps, k={config.lookahead}{words}"
    clocks, steps, _, _ = measure(config, kinds)
    return [
        row("gae", case, "gae_cycles", clocks, "cycles", reference="at most",
            reference_value=STEPS + ROWS, source=_SOURCE),
        row("gae", case, "elements_per_cycle", round(steps / clocks, 2), "",
            reference="HEPPO V-D1, one a clock and PE", reference_value=ROWS, source=_SOURCE),
    ]  # fmt: skip


def measure_kernel(board):
    """``(clocks, bits of the port)`` of a rollout of STEPS steps of ROWS environments in one launch
    of the kernel for ``board``, without standardization."""
    sizes = {"gae.rows": ROWS, "gae.depth": STEPS, **HEPPO_WIDTHS}
    folder = generate("gae", board, BUILD_DIRECTORY / "bench", **sizes)
    rng, shape = np.random.default_rng(0), (STEPS, ROWS)
    never, (rewards, values, bootstraps) = np.zeros(shape, bool), rng.normal(size=(3, *shape))
    with open_card("sim") as card:
        estimator = AdvantageEstimator(card.load(folder / "kernel.json"), timeout_s=LIMIT_S)
        clocks = launch_clocks(
            estimator, lambda: estimator.estimate(rewards, values, never, never, bootstraps)
        )
        return clocks, 8 * estimator.config.engine.beat_bytes


def kernel_rows():
    """The list of rows kernel_cycles and kernel_elements_per_cycle (steps a clock, with their
    transfers) of a full stack on each of BOARDS."""
    result = []
    for board in BOARDS:
        clocks, width = measure_kernel(board)
        case = f"{ROWS} x {STEPS} steps, k=2, whole kernel, port of {width} bits"
        result += [
            row("gae", case, "kernel_cycles", clocks, "cycles", source=_LAUNCH),
            row("gae", case, "kernel_elements_per_cycle", round(ROWS * STEPS / clocks, 2), "",
                source=_LAUNCH),
        ]  # fmt: skip
    return result
