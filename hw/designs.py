"""Every design that can be generated: name -> how to configure, build, describe and document it.

A new kernel adds its line here; card, host, boards and command line find it by name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from hw.gae import commands as gae
from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.gae.core import GaeCore
from hw.learner import commands as learner
from hw.learner.config import LearnerConfig
from hw.learner.core import LearnerCore
from hw.learner.estimate import estimate, fits, suggest
from hw.learner.kernel_config import LearnerKernelConfig
from hw.replay import commands as replay
from hw.replay.config import ReplayConfig, ReplayKernelConfig
from hw.replay.core import ReplayCore
from hw.replay.manager import ReplayManager
from hw.shell.axi import EngineConfig
from hw.shell.kernel import Kernel, describe
from hw.shell.layout import Layout
from hw.shell.program import PAGE_BYTES

__all__ = ["DESIGNS", "Design"]


@dataclass(frozen=True, kw_only=True)
class Design:
    """A kernel that can be generated.

    name, summary : str
    config_type : type
        Its config class.
    default : callable
        Config from a board's numbers: a dict with data_width (bits of a master), uram (blocks or
        None) and what else ``boards`` knows. Hardware sees numbers, never a board.
    core : callable
        Core from config.
    documents : dict of str to sequence of Layout
        Sections of the register document.
    commands, errors, status
        The command table, the error table, and the layout of the design's status block.
    storage : callable
        ``(count, bytes)`` of the items that its largest buffer must hold at least, from config.
    buffers : callable
        Bytes of the buffers that the host takes at once, whole pages by name, from config: those of
        the largest program of its runtime. A buffer that is not named grows with what is in it.
    estimate : callable
        Resources and cycles from config; None where unknown.
    suggest : callable
        Changes that would make a config fit, as texts, from it and a predicate on configs.
    check : callable
        ValueError for a config that is another design's.
    """

    name: str
    summary: str
    config_type: type
    default: Callable
    core: Callable
    sections: dict
    commands: dict
    errors: dict
    status: Layout
    storage: Callable
    estimate: Callable
    buffers: Callable = lambda config: {}
    suggest: Callable = lambda config, fits: []
    check: Callable = lambda config: None

    def kernel(self, config):
        return Kernel(self.name, self.core(config))

    def describe(self, config):
        self.check(config)
        return describe(self.name, config, self.core)

    def documents(self, config):
        return self.sections


def _engine(numbers):
    """Bursts of 1 KB: a write waits until its burst is whole, so longer ones delay every batch.

    Where there is no UltraRAM, the shortest, out of lookup tables: the memory of so small a part is
    its own block RAM, which is scarce, and answers at once.
    """
    width = numbers["data_width"]
    if not numbers.get("uram"):
        return EngineConfig(data_width=width, depth=16, burst_beats=8, bursts=4)
    return EngineConfig(data_width=width, burst_beats=8192 // width)


def _replay(numbers):
    """The largest power of two up to 2^20 whose memories fit; 4096 where there is no UltraRAM."""
    engine = _engine(numbers)
    blocks = numbers.get("uram") or 0
    capacity = 1 << 20
    while blocks and capacity > 4096:
        config = ReplayConfig(capacity=capacity)
        if ReplayManager.estimate(config)["uram"] <= blocks:
            return ReplayKernelConfig(replay=config, engine=engine)
        capacity //= 2
    return ReplayKernelConfig(replay=ReplayConfig(capacity=4096, ultra_ram=False), engine=engine)


#: Samples side by side and multipliers of the largest layer, widest first; PEs updated at once.
_UNROLLS = ((2, 32, 4), (1, 32, 4), (1, 16, 4), (1, 8, 1), (1, 4, 1), (1, 2, 1), (1, 1, 1))
#: Of what a board has for a design, what the learner may count on: the estimate leaves out all but
#: arithmetic and memories.
_SHARE = 0.75
#: Observation and action sizes of the tasks that come with a host program: CartPole, Pendulum.
_SIZES = {"dqn": dict(observation=4, action=2), "ddpg": dict(observation=3, action=1)}


def _learner(algorithm, numbers):
    """The widest unroll with room to spare in binary32; the narrowest if there is none."""
    replay = _replay(numbers)
    limits = {
        name: _SHARE * numbers[name]
        for name in ("lut", "bram36", "dsp")
        if numbers.get(name) is not None
    }
    for lanes, multipliers, update_units in _UNROLLS:
        config = LearnerKernelConfig(
            replay=replay.replay,
            engine=replay.engine,
            learner=LearnerConfig(
                algorithm=algorithm,
                lanes=lanes,
                multipliers=multipliers,
                update_units=update_units,
                **_SIZES[algorithm],
            ),
        )
        if fits(config, limits):
            break
    return config


def _check_algorithm(algorithm, config):
    if config.learner.algorithm != algorithm:
        raise ValueError(
            f"algorithm must be {algorithm} (the design), not {config.learner.algorithm!r}"
        )


def _stride(config):
    """Bytes of storage from one experience to the next: whole beats."""
    size = learner.record_granules(config.learner) * replay.GRANULE_BYTES
    return -(-size // config.engine.beat_bytes) * config.engine.beat_bytes


def _learning(algorithm, summary):
    return Design(
        name=algorithm,
        summary=summary,
        config_type=LearnerKernelConfig,
        default=partial(_learner, algorithm),
        core=LearnerCore,
        sections={
            "Commands": list(learner.COMMANDS.values()),
            "Steps and reports": [learner.STEP, learner.REPORT],
            "Lists and batches": [replay.ITEM, replay.HEADER],
            "Learner status": [learner.LEARNER_STATUS],
        },
        commands=learner.COMMANDS,
        errors=learner.ERRORS,
        status=learner.LEARNER_STATUS,
        storage=lambda config: (config.replay.capacity, _stride(config)),
        estimate=estimate,
        suggest=suggest,
        check=partial(_check_algorithm, algorithm),
    )


def _gae(numbers):
    """HEPPO's 64 rows where they fit; 8 where multipliers are small and there is no UltraRAM."""
    rows = 64 if numbers["ultra_ram"] else 8
    while rows > 1:
        config = GaeKernelConfig(gae=GaeConfig(rows=rows), engine=_engine(numbers))
        if _within(numbers, GaeCore.estimate(config)):
            break
        rows //= 2
    return config


def _within(numbers, estimate):
    return all(
        numbers.get(name) is None or estimate[name] is None or estimate[name] <= numbers[name]
        for name in ("dsp", "bram36")
    )


def _fewer_rows(config, fits):
    """The largest power of two below the config's rows that fits."""
    rows = 1 << (config.gae.rows - 1).bit_length() >> 1
    while rows >= 1:
        if fits(replace(config, gae=replace(config.gae, rows=rows))):
            return [f"rows {rows}"]
        rows //= 2
    return []


def _slots(config):
    """A whole stack in operands."""
    return config.gae.depth + 1, sum(config.slot_beats["numbers"]) * config.engine.beat_bytes


def _rollout(config):
    """Program and status of an estimate, and a whole stack in operands and in results."""
    slots, numbers = _slots(config)
    results = slots * sum(config.slot_beats["results"]) * config.engine.beat_bytes
    sizes = {"program": 1, "status": 1, "operands": slots * numbers, "results": results}
    return {name: -(-size // PAGE_BYTES) * PAGE_BYTES for name, size in sizes.items()}


DESIGNS = {
    design.name: design
    for design in [
        Design(
            name="replay",
            summary="prioritized replay: sum tree, draws, gather and insert (CF'22, PEARL)",
            config_type=ReplayKernelConfig,
            default=_replay,
            core=ReplayCore,
            sections={
                "Replay commands": list(replay.COMMANDS.values()),
                "Lists and batches": [replay.ITEM, replay.HEADER],
                "Replay status": [replay.REPLAY_STATUS],
            },
            commands=replay.COMMANDS,
            errors=replay.REPLAY_ERRORS,
            status=replay.REPLAY_STATUS,
            storage=lambda config: (config.replay.capacity, config.engine.beat_bytes),
            estimate=ReplayCore.estimate,
        ),
        Design(
            name="gae",
            summary="advantages and rewards-to-go of 8-bit rollouts, in place (HEPPO)",
            config_type=GaeKernelConfig,
            default=_gae,
            core=GaeCore,
            sections={
                "Commands": list(gae.COMMANDS.values()),
                "Records": [gae.MOMENTS],
                "Stack status": [gae.GAE_STATUS],
            },
            commands=gae.COMMANDS,
            errors=gae.GAE_ERRORS,
            status=gae.GAE_STATUS,
            storage=_slots,
            buffers=_rollout,
            estimate=GaeCore.estimate,
            suggest=_fewer_rows,
        ),
        _learning("dqn", "DQN on the card: replay, gradient steps, optimizer (CF'22, PEARL)"),
        _learning("ddpg", "DDPG on the card: replay, critic and actor, optimizer (CF'22, PEARL)"),
    ]
}
