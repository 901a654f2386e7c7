"""Prioritized replay for stable-baselines3: its buffer's contract on a memory of a card, and the
gradient steps of DQN, TD3 and SAC with importance weights. Only ``rlfabric.sb3`` imports it.
"""
