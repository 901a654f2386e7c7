"""An actor-critic network on a card: kernel ``a3c`` (FA3C, Cho et al. 2019).

The card holds the parameters theta, the means of squared gradients g (``squares``), copies of theta
(snapshots), and for each agent's rollout the inputs of every layer. The host chooses actions and
computes d(objective) / d(outputs).
"""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from host.a3c.parameter_image import from_image, parameter_shapes, to_image
from host.a3c.round_tasks import Infer, RoundLaunch, Sync, Train
from host.cards.buffer import OnCard
from host.cards.kernel import Kernel
from host.programs.launcher import CommandError, Launcher
from hw.errors import Failure, RlfabricError, UsageError
from hw.fa3c.commands import IMAGES, Opcode
from hw.fa3c.records import Error

__all__ = [
    "ActorCritic",
    "Broken",
    "Infer",
    "NotFinite",
    "RoundLaunch",
    "Sync",
    "Train",
    "parameter_shapes",
]

#: What a checkpoint's image depends on.
_NETWORK = (
    "height",
    "width",
    "channels",
    "in_channels",
    "binary32",
    "input_exponent",
    "convolutions",
    "hidden",
    "outputs",
)
#: Errors of which the status names the task.
_OF_TASKS = range(Error.TASK, Error.NUMBER + 1)


#: Name of a parameter -> array.
Arrays: TypeAlias = Mapping[str, NDArray[np.floating]]
Task: TypeAlias = Infer | Sync | Train


class Broken(Failure):
    """The card's memory failed while a round updated theta and g. The card has neither any more;
    they must be loaded again."""


class NotFinite(RlfabricError, FloatingPointError):
    """Training has diverged: a number of theta or g on the card is infinite or NaN."""


class ActorCritic(OnCard):
    """The network of kernel ``a3c`` on a card: its parameters theta, and g, the decayed means of
    the squared gradients.

    Parameters
    ----------
    kernel : host.cards.Kernel
        A loaded kernel ``a3c``.
    timeout_s : float
        Seconds after which a launch that has not ended raises CardTimeout.
    takeover : bool
        A kernel has one theta, and so one user. If another object has the kernel, the constructor
        raises ValueError, unless ``takeover`` is True; then the other object raises RuntimeError
        at its next use. The other object's ``close`` frees the kernel too.

    Attributes
    ----------
    config : Fa3cConfig
        The kernel's config.
    launcher : Launcher
        Runs programs of your own on the card.
    device_cycles : int or None
        Clocks of all launches so far; None on a card that does not count.
    status : record
        The card's block after the last launch (``hw.fa3c.records.A3C_STATUS``).

    Raises HashMismatch if the card has another kernel than the described one, CapacityError if
    snapshots and rollouts do not fit their memory banks. Once a Train has made a number of theta or
    g infinite or a NaN, everything but ``load`` and ``load_state_dict`` raises NotFinite (a
    FloatingPointError).
    """

    def __init__(self, kernel: Kernel, *, timeout_s: float = 600.0, takeover: bool = False) -> None:
        self.launcher = Launcher(kernel, timeout_s=timeout_s)
        self.config = self.launcher.config
        self._broken = False
        self.launcher.claim = kernel.claims.make(repr(self), takeover=takeover)
        try:
            kernel.check()
            for name, size in self.config.buffer_bytes.items():
                self.launcher.pointers[name] = kernel.buffer(name, size)
            self.launcher.run([])
        except BaseException:
            self.close()
            raise

    def __repr__(self):
        return f"{type(self).__name__}(outputs={self.config.outputs})"

    @property
    def device_cycles(self) -> int | None:
        return self.launcher.cycles

    @property
    def status(self) -> np.void:
        return self.launcher.status

    # -- parameters

    def load(self, parameters: Arrays, squares: Arrays | None = None) -> None:
        """Loads theta from ``parameters``, a dict of arrays with the names and shapes of
        ``parameter_shapes``, and g from ``squares``, another such dict; without ``squares`` g is 0.
        Afterwards all rollouts are empty and no snapshot is made, so the next task must be a Sync.

        ValueError for other names or shapes, and for a number that is not finite.
        """
        images = [to_image(self.config, parameters)]
        images.append(
            np.zeros_like(images[0]) if squares is None else to_image(self.config, squares)
        )
        self._load(images)

    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """theta as ``load`` takes it, float32."""
        return from_image(self.config, self._stored(0))

    def squares(self) -> dict[str, NDArray[np.float32]]:
        """g, the decayed means of the squared gradients: a dict as ``load`` takes it, float32.
        ValueError if nothing is loaded."""
        return from_image(self.config, self._stored(1))

    def state_dict(self) -> dict[str, object]:
        """theta and g as they lie in the card's memory, uint32 arrays, and a text with the
        network's sizes; ``numpy.savez(file, **state)`` can keep them. Snapshots and rollouts are
        not saved. ValueError if nothing is loaded."""
        theta, squares = self._stored(0), self._stored(1)
        return {"network": self._network, "theta": theta, "squares": squares}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Loads the theta and g of a ``state_dict``; ValueError if it is of another network.

        Afterwards all rollouts are empty and no snapshot is made, so the next task must be a Sync,
        and rollouts begin at step 0.
        """
        if str(state["network"]) != self._network:
            theirs, own = json.loads(str(state["network"])), json.loads(self._network)
            name = next(name for name in own if theirs.get(name) != own[name])
            raise UsageError(
                f"{name} must be that of the checkpoint's network ({theirs.get(name)}), not "
                f"{own[name]}"
            )
        images = [np.asarray(state[name]) for name in IMAGES]
        size = self.config.theta_bytes // 4
        for name, image in zip(IMAGES, images, strict=True):
            if image.dtype != np.uint32 or image.size != size:
                raise UsageError(
                    f"{name} must be {size} numbers of uint32, not {image.size} of {image.dtype}"
                )
        self._load(images)

    @property
    def _network(self):
        values = {name: getattr(self.config, name) for name in _NETWORK}
        return json.dumps(values)

    def _load(self, images):
        operands = np.concatenate([image.reshape(-1) for image in images]).view(np.uint8)
        size = operands.nbytes // 2
        program = [(Opcode.LOAD, {"image": k, "source": k * size}) for k in range(2)]
        self.launcher.run(program, [(0, operands)])
        self._broken = False

    def _stored(self, image):
        self._check_loaded()
        size = self.config.theta_bytes
        return self.launcher.run([(Opcode.STORE, {"image": image})], (), size).view(np.uint32)

    def _check_loaded(self):
        if self._broken:
            raise Broken(_CURE)
        self._check_finite()
        if int(self.status["loaded"]) != 3:
            raise UsageError(
                "parameters must be loaded first (load, or load_state_dict), not missing"
            )

    def _check_finite(self):
        """After the launch that has set these bits only a load is launched, which clears them."""
        overflow = int(self.status["overflow"])
        if not overflow:
            return
        names = ("theta", "g", "theta and g")[overflow - 1]
        raise NotFinite(
            f"{names} must be finite, not infinite or NaN since launch {self.launcher.launches}: "
            "training diverged (a smaller rate, or a larger epsilon, may help); take up the last "
            "checkpoint (load_state_dict) or load parameters, then Sync"
        )

    # -- rounds

    def prepare(self, tasks: Sequence[Task]) -> RoundLaunch:
        """Returns the ``RoundLaunch`` of these tasks, which ``run`` takes; ValueError as for
        ``RoundLaunch``. It has all the bytes that the card will read, so that one round can be
        prepared while another one runs in another thread."""
        return RoundLaunch(self.config, tasks)

    def run(self, tasks: Sequence[Task] | RoundLaunch) -> list[NDArray[np.float32] | None]:
        """Executes ``tasks``, a list or a ``RoundLaunch``, in one launch; the result is as if the
        tasks ran one after the other. Returns a list with an item for each task: the outputs of an
        Infer, float32 [agents, outputs], and None for a Train or a Sync.

        ValueError if a task is wrong by itself or in this order, or if nothing is loaded; no task
        was executed then. ``Broken`` if memory failed so that theta is lost. NotFinite if a Train
        of this or an earlier call has left a number of theta or g that is not finite.
        """
        work = tasks if isinstance(tasks, RoundLaunch) else self.prepare(tasks)
        if work.config != self.config:
            raise UsageError("tasks must be a round of this kernel's config, not of another's")
        self._check_loaded()
        command = (Opcode.ROUND, {"count": len(work.tasks)})
        try:
            results = self.launcher.run([command], [(0, work.operands)], work.results_bytes)
        except CommandError as error:
            if error.code in _OF_TASKS:
                meaning = self.launcher.design.errors[error.code][1]
                raise UsageError(
                    f"{work.describe(error.detail)} must be right after what was before, not "
                    f"{error.name}: {meaning}"
                ) from error
            if error.code == Error.AXI and work.trains:
                self._broken = True
                raise Broken(_CURE) from error
            raise
        self._check_finite()
        return work.outputs(results)

    def close(self) -> None:
        """Releases the kernel, so that another object may use it."""
        self.launcher.kernel.claims.release(self.launcher.claim)


_CURE = (
    "theta and g must be whole, not broken by a memory fault in a round that trained: take up the "
    "last checkpoint (load_state_dict) or load parameters, then Sync; all rollouts are empty then"
)
