"""Agents by algorithm, and a trained policy in a file: what is kept of the best evaluation."""

from host import checkpoint
from host.algorithms.ddpg import DDPG
from host.algorithms.dqn import DQN

__all__ = ["agent_type", "load_policy", "save_policy"]


def agent_type(algo):
    """The class of an algorithm's agent; MissingTool for ppo without torch."""
    if algo == "ppo":
        from host.algorithms.ppo import PPO  # with torch, which is an extra, and slow to import

        return PPO
    return {"dqn": DQN, "ddpg": DDPG}[algo]


def save_policy(path, agent, *, algo, env, score):
    """Write ``agent``'s networks atomically; ``score`` is the mean return that it was kept for."""
    config = {
        "algo": algo,
        "env": env,
        "agent": agent.config.to_dict(),
        **agent.sizes,
    }
    state = {"parameters": agent.parameters, "score": score}
    checkpoint.save(path, "policy", config, state)


def load_policy(path):
    """Read what ``save_policy`` wrote.

    Returns
    -------
    agent : Agent
        For ``act(obs, greedy=True)`` and ``predict``.
    info : dict
        ``algo``, ``env``, ``score``.

    CheckpointError if the file is absent, damaged or not a policy; MissingTool as ``agent_type``.
    """
    config, state = checkpoint.load(path, "policy")
    info = {"algo": config.pop("algo"), "env": config.pop("env"), "score": state["score"]}
    kind = agent_type(info["algo"])
    agent = kind(kind.CONFIG.from_dict(config.pop("agent")), seed=0, **config)
    agent.load_parameters(state["parameters"])
    return agent, info
