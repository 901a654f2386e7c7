"""What ``rlfabric list`` says of algorithms, presets, learners and tasks, in a module of its own,
since a list of names imports no algorithm and no environment."""

__all__ = ["CAPTURED", "HEPPO", "LEARNERS", "NAMESPACE", "PRECISIONS", "STATIC", "SUMMARIES"]
__all__ += ["TASKS"]

#: algorithm -> one line about it
SUMMARIES = {
    "dqn": "deep Q-network with prioritized replay; discrete actions",
    "ddpg": "deep deterministic policy gradient with prioritized replay; continuous actions",
    "td3": "twin delayed DDPG with prioritized replay; continuous actions",
    "sac": "soft actor-critic with prioritized replay; continuous actions",
    "ppo": "proximal policy optimization with the card's advantages; discrete or continuous "
    "actions",
    "a3c": "asynchronous advantage actor-critic, inferred and trained in rounds; pixels too",
}

#: learner -> explanation
LEARNERS = {
    "cpu": "the CPU trains; the card draws batches (kernel replay, if the replay memory is there), "
    "or for ppo estimates advantages (kernel gae)",
    "card": "the card trains too, with the kernel of the algorithm's name, if there is one",
}

#: the namespace of the tasks' ids
NAMESPACE = "rlfabric"
#: a task's id without its namespace -> its place in ``hw.environment.tasks``, its limit of steps
#: and its threshold
TASKS = {
    "CartPole-v1": ("cartpole:CartPole", 500, 475.0),
    "MountainCar-v0": ("mountain_car:MountainCar", 200, -110.0),
    "Pendulum-v1": ("pendulum:Pendulum", 200, -200.0),
}

#: PPO's presets -> how advantages are estimated (HEPPO V-C, Table III); results have 32 bits
HEPPO = {
    "heppo1": dict(rewards="raw", values="raw", code_width=32),
    "heppo2": dict(rewards="dynamic", values="raw", code_width=32),
    "heppo3": dict(rewards="restored", values="restored", code_width=8),
    "heppo4": dict(rewards="block", values="restored", code_width=8),
    "heppo5": dict(rewards="dynamic", values="restored", code_width=8),
}

#: Precisions that switch: after a delay, or (fixed16_captured) after the first gradient step.
CAPTURED = ("qat", "qat_errors_full", "fixed16_captured")
#: Precisions of 16 bits, with one format for all layers from the first gradient step on.
STATIC = ("fixed16_static", "fixed16_all")
#: The precisions of an agent, which are DDPG's presets too (FIXAR)
PRECISIONS = ("float32", "fixed32", *CAPTURED, *STATIC)
