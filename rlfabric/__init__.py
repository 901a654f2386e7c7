"""FPGA accelerators for deep reinforcement learning: what a program of one's own needs.

Every name is imported when it is first asked for, so that a program pays only for what it uses.
"""

import importlib
from pathlib import Path

__all__ = [
    "AdvantageEstimator",
    "PrioritizedReplayBuffer",
    "RlfabricError",
    "generate",
    "open_card",
]

#: Name -> the module that has it.
_MODULES = {
    "AdvantageEstimator": "host.runtime.gae",
    "PrioritizedReplayBuffer": "host.runtime.replay",
    "RlfabricError": "hw.errors",
    "generate": "host.generate",
    "open_card": "host.card",
}
#: In the repository these modules stand beside this package, installed below it.
_ABOVE = f"{__name__}." if (Path(__file__).parent / "host").is_dir() else ""


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ABOVE + _MODULES[name]), name)


def __dir__():
    return [*globals(), *_MODULES]
