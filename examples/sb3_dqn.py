"""stable-baselines3's DQN on CartPole-v1, with prioritized replay on a card (extra sb3)."""

import argparse

import torch
from stable_baselines3.common.evaluation import evaluate_policy

from rlfabric.sb3 import PrioritizedDQN

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--card", default="model", help="a card of `rlfabric list cards`")
options.add_argument("--steps", type=int, default=50_000)
options = options.parse_args()

torch.set_num_threads(1)
model = PrioritizedDQN(
    "MlpPolicy",
    "CartPole-v1",
    learning_rate=2.3e-3,
    batch_size=64,
    buffer_size=50_000,
    learning_starts=1000,
    train_freq=256,
    gradient_steps=128,
    target_update_interval=10,
    exploration_fraction=0.16,
    exploration_final_eps=0.04,
    policy_kwargs=dict(net_arch=[256, 256]),
    # The weights' exponent rises from 0.4 to 1 in the course of the training.
    replay_buffer_kwargs=dict(card=options.card, alpha=0.6, beta=lambda left: 1 - 0.6 * left),
    seed=0,
    device="cpu",
)
model.learn(options.steps)
mean, _ = evaluate_policy(model, model.get_env(), n_eval_episodes=20)
model.replay_buffer.close()
print(f"mean return of 20 episodes {mean:.1f}")
