"""What ``rlfabric list`` says of algorithms and learners. The lines are apart from the algorithms,
since a list of names shall import none of them."""

__all__ = ["LEARNERS", "SUMMARIES"]

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
