"""A trained policy in a file: what is kept of the best evaluation."""

from host import checkpoint
from host.algorithms.registry import find
from host.collect.spec import Spec

__all__ = ["load_policy", "save_policy"]


def save_policy(path, policy, *, algo, env, score):
    """Write ``policy`` atomically; ``score`` is the mean return that it was kept for."""
    config = {
        "algo": algo,
        "env": env,
        "agent": policy.config.to_dict(),
        "spec": policy.spec.to_dict(),
    }
    checkpoint.save(path, "policy", config, {"parameters": policy.parameters, "score": score})


def load_policy(path):
    """Read what ``save_policy`` wrote; torch is not needed.

    Returns
    -------
    policy : Policy
        For ``act(obs, greedy=True)`` and ``predict``.
    info : dict
        ``algo``, ``env``, ``score``.

    CheckpointError if the file is absent, damaged or not a policy of this release.
    """
    config, state = checkpoint.load(path, "policy")
    if "spec" not in config:
        raise checkpoint.CheckpointError(f"{path} must be of this release of rlfabric, not older")
    try:
        algorithm = find(config["algo"])
        agent, spec = algorithm.config.from_dict(config["agent"]), Spec.from_dict(config["spec"])
        policy = algorithm.policy(agent, spec)
        policy.load_parameters(state["parameters"])
        return policy, {"algo": config["algo"], "env": config["env"], "score": state["score"]}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise checkpoint.CheckpointError(
            f"{path} must be of this release of rlfabric, not another's "
            f"({type(error).__name__}: {error})"
        ) from error
