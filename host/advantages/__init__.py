"""Advantages on kernel ``gae`` (HEPPO), and PPO, which learns from them. Read ``estimator``, then
``rollout``, ``advantage_learner`` and ``ppo``. ``host.runs.rollout_runs`` joins them.
"""
