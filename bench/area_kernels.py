"""Kernels whose parts decide, with the units, the rows of hw/area.json."""

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.gae import estimate as gae
from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.learner import estimate as learner_estimate
from hw.learner.config import LearnerConfig, LearnerKernelConfig
from hw.replay import estimate as replay_estimate
from hw.replay.config import ReplayConfig, ReplayKernelConfig
from hw.shell.axi import EngineConfig

__all__ = ["ESTIMATES", "KERNELS", "LEARNERS", "PARTS"]


def replay_kernel(capacity, fanout, width, fraction, data_width, depth, burst_beats, bursts):
    """A ReplayKernelConfig without UltraRAM."""
    return ReplayKernelConfig(
        replay=ReplayConfig(
            capacity=capacity,
            fanout=fanout,
            priority_width=width,
            priority_fraction=fraction,
            ultra_ram=False,
        ),
        engine=EngineConfig(
            data_width=data_width, depth=depth, burst_beats=burst_beats, bursts=bursts
        ),
    )


def gae_kernel(rows, lookahead, code_width, result_width, data_width, depth):
    """A GaeKernelConfig without UltraRAM, with engines of the ULX3S."""
    return GaeKernelConfig(
        gae=GaeConfig(
            rows=rows,
            depth=depth,
            lookahead=lookahead,
            code_width=code_width,
            result_width=result_width,
            ultra_ram=False,
        ),
        engine=EngineConfig(data_width=data_width, depth=16, burst_beats=8, bursts=4),
    )


def learner_kernel(algorithm="dqn", kind="fixed", weight=23, data_width=128, **fields):
    """A LearnerKernelConfig of a small replay memory without UltraRAM; ``weight``: its fraction
    bits in fixed point."""
    formats = {} if kind == "float32" else {"weight": SQ(4, weight)}
    return LearnerKernelConfig(
        replay=ReplayConfig(
            capacity=256, fanout=4, priority_width=24, priority_fraction=16, ultra_ram=False
        ),
        engine=EngineConfig(data_width=data_width, depth=16, burst_beats=8, bursts=4),
        learner=LearnerConfig(
            algorithm=algorithm,
            arithmetic=Arithmetic(kind=kind, **formats),
            update_units=1,
            **({"double": False} if algorithm == "dqn" else {}),
            **fields,
        ),
    )


#: Learners of kernels; of all of them the layers are mapped.
LEARNERS = {
    "small": learner_kernel(hidden=(8,), batch=2, words=(1, 1, 1), optimizer="sgd"),
    "tanh": learner_kernel(
        hidden=(64, 64), hidden_activation="tanh", batch=32, words=(1, 2, 1, 1)
    ),
    "narrow": learner_kernel(
        weight=14, hidden=(32, 24), batch=16, words=(2, 4, 2, 1), optimizer="rmsprop"
    ),
    "float": learner_kernel(
        kind="float32", hidden=(16,), batch=8, multipliers=2, optimizer="sgd"
    ),
    "ddpg": learner_kernel(
        "ddpg", data_width=256, observation=3, action=1, hidden=(16,), batch=16, lanes=2,
        multipliers=4, optimizer="rmsprop",
    ),
}  # fmt: skip
#: Design -> {name: config} of kernels of which each part is mapped.
KERNELS = {
    "replay": {
        "K=8": replay_kernel(1000, 8, 32, 20, 512, 64, 4, 8),
        "K=4": replay_kernel(2048, 4, 24, 16, 128, 16, 8, 4),
        "K=16": replay_kernel(1024, 16, 16, 8, 128, 32, 8, 8),
        "K=2": replay_kernel(8192, 2, 12, 4, 256, 128, 8, 64),
    },
    "gae": {
        "4 rows": gae_kernel(4, 1, 8, 8, 128, 512),
        "16 rows": gae_kernel(16, 2, 8, 16, 128, 1024),
        "12 rows": gae_kernel(12, 3, 16, 8, 128, 256),
        "5 rows": gae_kernel(5, 2, 32, 32, 256, 128),
    },
    "dqn": {"small": LEARNERS["small"]},
}
_LAYER, _REPLAY = r"core\.learner\.\w+_\d", r"core\.replay"
_LEARNER_PARTS = {
    **{rf"{_LAYER}\.{unit}": unit for unit in ("forward", "backward", "parameters")},
    rf"{_LAYER}\.ring": "buffers",
    r"core\.learner\.(loss_\d|\w+_(merge|smooth))": "loss",
    r"core\.learner\.(batch_memory|play)": "samples",
    r"core\.learner\.outputs": "results",
    r"core\.td_errors": "results",
    r"core\.learner\.transfer": "image",
    r"core\.iteration": "iteration",
    r"core\.dispatcher": "commands",
    rf"{_REPLAY}\.manager\.level_\d+": "replay tree",
    **{rf"{_REPLAY}\.manager\.{unit}": f"replay {unit}" for unit in ("table", "draw")},
    **{
        rf"{_REPLAY}\.{unit}": f"replay {unit}" for unit in ("manager", "items", "gather", "insert")
    },
    rf"{_REPLAY}\.dispatcher": "replay commands",
    _REPLAY: "replay core",
    r"core": "core",
    r"control": "control",
    r"sequencer": "sequencer",
}
#: Design -> {module, by its path in the kernel: part of the estimate}; the rest counts as engines:
#: the ports' multiplexers at the top are among them.
PARTS = {
    "dqn": _LEARNER_PARTS,
    "ddpg": _LEARNER_PARTS,
    "td3": _LEARNER_PARTS,
    "replay": {
        r"core\.manager\.level_\d+": "tree",
        r"core\.manager\.table": "table",
        r"core\.manager\.draw": "draw",
        r"core\.manager": "manager",
        r"core\.items": "items",
        r"core\.gather": "gather",
        r"core\.insert": "insert",
        r"core\.dispatcher": "commands",
        r"core": "core",
        r"control": "control",
        r"sequencer": "sequencer",
    },
    "gae": {
        r"rlfabric_pe_\w+": "pes",
        r"core\.estimator\.stack": "stack",
        r"core\.estimator": "estimator",
        r"core\.intake\.standardize": "standardize",
        r"core\.intake\.statistics": "statistics",
        r"core\.intake": "intake",
        r"core\.output": "output",
        r"core\.dispatcher": "commands",
        r"core": "core",
        r"control": "control",
        r"sequencer": "sequencer",
    },
}
#: Design -> function that gives ``{part: Estimate}`` of a kernel's config.
ESTIMATES = {
    "replay": replay_estimate.parts,
    "gae": gae.parts,
    "dqn": learner_estimate.parts,
    "ddpg": learner_estimate.parts,
    "td3": learner_estimate.parts,
}
