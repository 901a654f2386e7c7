"""Agents by algorithm, and a trained policy in a file: what is kept of the best evaluation."""

from host import checkpoint
from host.agents.ddpg import DDPG, DDPGConfig
from host.agents.dqn import DQN, DQNConfig

__all__ = ["AGENTS", "load_policy", "save_policy"]

#: algorithm -> its agent and the config of that
AGENTS = {"dqn": (DQN, DQNConfig), "ddpg": (DDPG, DDPGConfig)}


def save_policy(path, agent, *, algo, env, score):
    """Write ``agent``'s networks atomically; ``score`` is the mean return that it was kept for."""
    config = {
        "algo": algo,
        "env": env,
        "observation_size": agent.observation_size,
        "action_count": agent.action_count,
        "agent": agent.config.to_dict(),
    }
    parameters = {name: pair.online.parameters for name, pair in agent.networks.items()}
    checkpoint.save(path, "policy", config, {"parameters": parameters, "score": score})


def load_policy(path):
    """Read what ``save_policy`` wrote.

    Returns
    -------
    agent : DQN or DDPG
        For ``act(obs, greedy=True)`` and ``predict``.
    info : dict
        ``algo``, ``env``, ``score``.

    CheckpointError if the file is absent, damaged or not a policy.
    """
    config, state = checkpoint.load(path, "policy")
    kind, settings = AGENTS[config["algo"]]
    agent = kind(
        settings.from_dict(config["agent"]),
        observation_size=config["observation_size"],
        action_count=config["action_count"],
        seed=0,
    )
    for name, pair in agent.networks.items():
        pair.online.parameters[...] = pair.target.parameters[...] = state["parameters"][name]
    return agent, {"algo": config["algo"], "env": config["env"], "score": state["score"]}
