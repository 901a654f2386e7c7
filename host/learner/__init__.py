"""Kernels ``dqn`` and ``ddpg``, which learn from a replay memory on the card or elsewhere. Read
``learning_replay`` (calls of the kernel), then ``card_learner`` (what a run does).
"""
