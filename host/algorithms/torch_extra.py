"""torch, an extra of this package, on one thread: sums of equal seeds are then in equal order."""

from host.extras import install
from sim.tools import MissingTool

__all__ = ["torch"]

try:
    import torch
except ImportError as error:
    raise MissingTool(
        f"torch must be installed for ppo ({install('torch')}), not missing: {error}"
    ) from error

torch.set_num_threads(1)
