"""torch, an extra of this package, on one thread: sums of equal seeds are then in equal order."""

from sim.tools import MissingTool

__all__ = ["torch"]

try:
    import torch
except ImportError as error:
    raise MissingTool(
        "torch must be installed for ppo (pip install -c constraints.txt -e '.[torch]'), "
        f"not missing: {error}"
    ) from error

torch.set_num_threads(1)
