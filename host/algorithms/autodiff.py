"""Gradients by torch, an extra of this package: networks in training, and their gradient steps.

torch is imported when it is first used, so that acting and training on the card need none.
"""

import numpy as np

from host.algorithms.activation import ACTIVATIONS
from host.algorithms.config import LOSSES
from hw.errors import UsageError
from hw.extras import needed

__all__ = ["TrainingNetwork", "Updater", "check_device", "torch"]


class _Torch:
    """The module torch; MissingTool where it is not installed."""

    def __getattr__(self, name):
        found = getattr(needed("torch", "torch", "to train on the CPU"), name)
        setattr(self, name, found)
        return found


torch = _Torch()


def check_device(name):
    """Checks that torch can compute on the device that it calls ``name``; ValueError if it cannot,
    MissingTool without torch."""
    device, empty = torch.device, torch.empty
    try:
        empty(1, device=device(name)).cpu()
    except (RuntimeError, AssertionError, ImportError, TypeError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise UsageError(
            f"device must be cpu, or another that torch has here, not {name!r} ({reason})"
        ) from error


def _optimizer(config, parameter):
    """torch's optimizer of the config's rule; its step size is set at each step."""
    epsilon = config.optimizer_epsilon
    rule = getattr(config, "optimizer", "adam")
    if rule == "adam":
        betas = getattr(config, "beta1", 0.9), getattr(config, "beta2", 0.999)
        return torch.optim.Adam([parameter], betas=betas, eps=epsilon, fused=True)
    if rule == "rmsprop":
        return torch.optim.RMSprop([parameter], alpha=config.decay, eps=epsilon)
    return torch.optim.SGD([parameter], momentum=config.momentum)


class TrainingNetwork:
    """A policy's network in training: its parameters as tensors, its target network, its optimizer.

    On the CPU, in binary32, the tensors are the memory of the policy's network itself; from another
    device or type they are copied back after each step. All parameters are one vector, and so are
    all gradients: a step of the optimizer, the gradient's norm and a step of the target are one
    operation each.

    Parameters
    ----------
    network : MLP, or another with ``parameters``, ``arrays`` and ``apply``
        The network that is trained, in place.
    config : AgentConfig
        Gives the optimizer, and ``max_gradient_norm``.
    device : str
        torch's name of the device of the tensors.
    dtype : torch.dtype, optional
        Type of the parameters; None: binary32, as in the network.

    Attributes
    ----------
    constants : list of tensors
        Views of the parameters in the order of the network's ``arrays``, without gradients.
    """

    def __init__(self, network, config, device="cpu", dtype=None):
        self.network, self.config = network, config
        own = torch.from_numpy(network.parameters)
        self.parameters = own.to(device=device, dtype=dtype)
        # Also on the CPU it is a copy if the device has a number or the parameters another type.
        self._copied = self.parameters.data_ptr() != own.data_ptr()
        self.parameters.grad = torch.zeros_like(self.parameters)
        self.target_parameters = self.parameters.clone()
        self.arrays, self.constants = self._leaves(self.parameters), self._views(self.parameters)
        self._target_arrays = self._views(self.target_parameters)
        self._functions = {
            "affine": torch.addmm,
            "convolve": torch.nn.functional.conv2d,
            "scale": lambda x, factor: x.float() * factor,
            **{name: activation.torch(torch) for name, activation in ACTIVATIONS.items()},
        }
        self.optimizer = _optimizer(config, self.parameters)

    def _views(self, flat):
        views, at = [], 0
        for array in self.network.arrays:
            views.append(flat[at : at + array.size].view(array.shape).detach())
            at += array.size
        return views

    def _leaves(self, flat):
        """Views of ``flat``, whose gradients are added to those of the network."""
        views = self._views(flat)
        for view, gradient in zip(views, self._views(self.parameters.grad), strict=True):
            view.requires_grad_().grad = gradient
        return views

    def __call__(self, x, arrays=None):
        """The network's outputs for tensor ``x``; ``arrays``: a ``snapshot`` or the ``constants``,
        instead of the network's own parameters."""
        arrays = self.arrays if arrays is None else arrays
        return self.network.apply(x, arrays, self._functions)

    def snapshot(self):
        """Returns copies of the network's arrays as they are now, for ``__call__``. Gradients by
        these copies are added to the gradient of the network's present parameters."""
        return self._leaves(self.parameters.detach().clone())

    def target(self, x):
        """The target network's outputs for tensor ``x``."""
        return self.network.apply(x, self._target_arrays, self._functions)

    def backward(self, loss, **options):
        """Adds the gradient of ``loss`` by this network's parameters alone."""
        torch.autograd.backward(loss, inputs=self.arrays, **options)

    def descend(self, learning_rate):
        """Does one step of the optimizer with step size ``learning_rate``. A gradient whose norm is
        above ``max_gradient_norm`` is scaled down to it. Afterwards the gradient is 0."""
        limit = self.config.max_gradient_norm
        if limit is not None:
            norm = self.parameters.grad.norm().item()
            if norm > limit:
                self.parameters.grad.mul_(limit / norm)
        self.optimizer.param_groups[0]["lr"] = learning_rate
        self.optimizer.step()
        self.parameters.grad.zero_()
        self.show()

    def synchronize(self, tau):
        """``target += tau (online - target)``."""
        if tau == 1:
            self.target_parameters.copy_(self.parameters)
        else:
            self.target_parameters.lerp_(self.parameters, tau)

    def show(self):
        """Copies the parameters to the policy's network, unless both are the same memory."""
        if self._copied:
            self.network.parameters[...] = self.parameters.cpu().numpy()

    def state_dict(self):
        """Target and moments; the policy saves the network itself."""
        moments = self.optimizer.state_dict()["state"].get(0, {})
        return {
            "target": self.target_parameters.cpu().numpy().copy(),
            "moments": {
                name: value.cpu().numpy().copy()
                for name, value in moments.items()
                if value is not None
            },
        }

    def load_state_dict(self, state):
        """Continues a saved state. Before it the policy's network must have been loaded."""
        self.parameters.copy_(torch.from_numpy(self.network.parameters))
        self.target_parameters.copy_(torch.from_numpy(np.array(state["target"])))
        own = self.optimizer.state_dict()
        moments = {name: torch.from_numpy(np.array(x)) for name, x in state["moments"].items()}
        own["state"] = {0: moments} if moments else {}
        self.optimizer.load_state_dict(own)


class Updater:
    """The base class of updaters, which do a policy's gradient steps off the card, by autodiff.

    A subclass has ``update(batch, clock)``.

    Parameters
    ----------
    policy : Policy
        Its networks are trained in place.
    seed : int, numpy.random.SeedSequence or numpy.random.Generator
        Seed of the random numbers that gradient steps draw.
    device : str
        ``cpu``, or torch's name of another device; ValueError if torch cannot use it here.

    Attributes
    ----------
    networks : dict of str to TrainingNetwork
        Name of each of the policy's networks -> the network in training.
    """

    def __init__(self, policy, *, seed=0, device="cpu"):
        self.policy, self.config, self.spec = policy, policy.config, policy.spec
        check_device(device)
        self.rng, self.device = np.random.default_rng(seed), device
        self.networks = {name: self.trained(network) for name, network in policy.networks.items()}

    def trained(self, network):
        """The TrainingNetwork for a network of the policy."""
        return TrainingNetwork(network, self.config, self.device)

    def inferred(self, policy):
        """Returns an object that acts as ``policy``, a policy of this agent, in the arithmetic in
        which the updater trains: the policy itself if this is binary32, else an InferredPolicy."""
        return policy

    def update(self, batch, clock):
        """Does a gradient step with a batch of experiences.

        Parameters
        ----------
        batch : dict
            Arrays [batch, ...]: ``obs``, ``next_obs``, ``action``, ``reward``, ``discount``
            (gamma^k, or 0 if the episode terminated), ``weights`` (importance weights).
        clock : Clock
            Schedules depend on it; this step has number ``clock.updates + 1``. It is not changed.

        Returns
        -------
        td_errors : array [batch], float32
            ``y - Q(s, a)`` before the step; with two critics the larger of their magnitudes.
        measured : dict
            Column of progress.csv -> number.

        ValueError if a TD error is not finite; nothing is learned then.
        """
        raise NotImplementedError

    def tensors(self, batch):
        """The arrays of a batch (``update``) as tensors on the device, by name. Observations are
        [batch, numbers], uint8 for images, else float32. Actions are int64 [batch, 1] if discrete,
        else float32 [batch, components]. All others are float32 [batch]."""
        seen = dict.fromkeys(("obs", "next_obs"), self.spec.dtype)
        kinds = seen | dict.fromkeys(("reward", "discount", "weights"), "float32")
        tensors = {name: self.tensor(np.asarray(batch[name], kind)) for name, kind in kinds.items()}
        count = len(tensors["reward"])
        for name in seen:
            tensors[name] = tensors[name].reshape(count, -1)
        kind = np.int64 if self.spec.discrete else np.float32
        action = np.asarray(batch["action"], kind).reshape(count, -1)
        return tensors | {"action": self.tensor(action)}

    def tensor(self, array):
        """An array as a tensor on the device."""
        return torch.as_tensor(np.ascontiguousarray(array), device=self.device)

    def normal(self, shape):
        """Normal random numbers, float32, on the device."""
        return self.tensor(self.rng.standard_normal(shape, np.float32))

    def weighted_loss(self, td, weights):
        """``mean(w f(td))`` of tensors [rows], w being ``weights`` and f the config's loss."""
        config = self.config
        return LOSSES[config.loss].mean(torch, td, weights, config.huber_delta)

    def check_finite(self, name, tensor, clock):
        """``tensor``, one number or one for each row, as a NumPy array. ValueError if a number is
        not finite; its text has ``name``, the row, and the numbers of ``clock``."""
        array = tensor.detach().cpu().numpy()
        bad = np.flatnonzero(~np.isfinite(array))
        if len(bad):
            row = f"row {bad[0]} of " if array.ndim else ""
            rate = self.config.learning_rate_at(clock.launched)
            size = "a step size" if rate is None else f"learning_rate {rate:g}"
            raise UsageError(
                f"{name} must be finite, not {array.flat[bad[0]]} ({row}batch {clock.updates}; "
                f"{size} may be too high, or an observation or reward is not finite)"
            )
        return array

    def synchronize(self, clock):
        """Calls ``move_targets`` if ``clock.updates + 1``, the number of this step, is a multiple
        of ``target_interval``."""
        if (clock.updates + 1) % self.config.target_interval == 0:
            self.move_targets()

    def move_targets(self):
        """Updates the target of every network: ``target += target_tau (online - target)``."""
        for trained in self.networks.values():
            trained.synchronize(self.config.target_tau)

    def state_dict(self):
        """Everything on which the next step depends, besides the policy."""
        networks = {name: trained.state_dict() for name, trained in self.networks.items()}
        return {"networks": networks, "rng": self.rng.bit_generator.state}

    def load_state_dict(self, state):
        for name, trained in self.networks.items():
            trained.load_state_dict(state["networks"][name])
        self.rng.bit_generator.state = state["rng"]
