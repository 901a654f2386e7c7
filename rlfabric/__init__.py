"""FPGA accelerators for deep reinforcement learning: the public names for programs.

Every name is imported when it is first asked for, so that a program pays only for what it uses.
``rlfabric.training`` has further names for a training loop of your own.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boards import DoesNotFit
    from boards import titles as boards
    from host.cards import Card, CardError, CardTimeout, Kernel, open_card
    from host.checkpoint import CheckpointError
    from host.replay.ring_memory import RingMemory
    from host.replay.tree_memory import TreeMemory
    from host.runs.loop import Progress
    from hw.errors import Failure, MissingTool, RlfabricError, UsageError
    from rlfabric.advantages import AdvantageEstimator
    from rlfabric.kernels import designs, estimate, explore, generate, load_kernel
    from rlfabric.pearl_composer import Composer
    from rlfabric.plan import Composed, compose
    from rlfabric.policy import Evaluation, Policy, evaluate, load_policy
    from rlfabric.replay import PrioritizedReplayBuffer
    from rlfabric.run import Run, train

__all__ = [
    "AdvantageEstimator",
    "Card",
    "CardError",
    "CardTimeout",
    "CheckpointError",
    "Composed",
    "Composer",
    "DoesNotFit",
    "Evaluation",
    "Failure",
    "Kernel",
    "MissingTool",
    "Policy",
    "PrioritizedReplayBuffer",
    "Progress",
    "RingMemory",
    "RlfabricError",
    "Run",
    "TreeMemory",
    "UsageError",
    "boards",
    "compose",
    "designs",
    "estimate",
    "evaluate",
    "explore",
    "generate",
    "load_kernel",
    "load_policy",
    "open_card",
    "train",
]

#: In the repository the folders stand beside this package, installed below it.
_ABOVE = f"{__name__}." if (Path(__file__).parent / "host").is_dir() else ""
if not _ABOVE:
    importlib.import_module(f"{__name__}._checkout").alias()

#: Module -> names that it has.
_MODULES = {
    f"{_ABOVE}boards": ["DoesNotFit"],
    f"{_ABOVE}host.cards": ["Card", "CardError", "CardTimeout", "Kernel", "open_card"],
    f"{_ABOVE}host.checkpoint": ["CheckpointError"],
    f"{_ABOVE}host.replay.ring_memory": ["RingMemory"],
    f"{_ABOVE}host.replay.tree_memory": ["TreeMemory"],
    f"{_ABOVE}host.runs.loop": ["Progress"],
    f"{_ABOVE}hw.errors": ["Failure", "MissingTool", "RlfabricError", "UsageError"],
    f"{__name__}.advantages": ["AdvantageEstimator"],
    f"{__name__}.pearl_composer": ["Composer"],
    f"{__name__}.plan": ["Composed", "compose"],
    f"{__name__}.kernels": ["designs", "estimate", "explore", "generate", "load_kernel"],
    f"{__name__}.policy": ["Evaluation", "Policy", "evaluate", "load_policy"],
    f"{__name__}.replay": ["PrioritizedReplayBuffer"],
    f"{__name__}.run": ["Run", "train"],
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name == "boards":  # the package, which is this function: see there
        return importlib.import_module(f"{_ABOVE}boards")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
