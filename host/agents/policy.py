"""A trained policy in a file: what is kept of the best evaluation."""

from host import checkpoint
from host.agents.dqn import DQN
from host.agents.dqn_config import DQNConfig

__all__ = ["load_policy", "save_policy"]


def save_policy(path, agent, *, env, score):
    """Write ``agent``'s network atomically; ``score`` is the mean return that it was kept for."""
    config = {
        "env": env,
        "observation_size": agent.online.inputs,
        "action_count": agent.action_count,
        "dqn": agent.config.to_dict(),
    }
    state = {"parameters": agent.online.parameters, "score": score}
    checkpoint.save(path, "policy", config, state)


def load_policy(path):
    """Read what ``save_policy`` wrote.

    Returns
    -------
    agent : DQN
        For ``act(obs, greedy=True)`` and ``predict``.
    info : dict
        ``env``, ``score``.

    CheckpointError if the file is absent, damaged or not a policy.
    """
    config, state = checkpoint.load(path, "policy")
    agent = DQN(
        DQNConfig.from_dict(config["dqn"]),
        observation_size=config["observation_size"],
        action_count=config["action_count"],
        seed=0,
    )
    agent.online.parameters[...] = agent.target.parameters[...] = state["parameters"]
    return agent, {"env": config["env"], "score": state["score"]}
