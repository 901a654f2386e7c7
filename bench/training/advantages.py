"""``python -m bench.training.advantages FOLDER``: PPO with advantages from the card.

CartPole-v1 until solved, and HEPPO's five experiments on Pendulum-v1, on card ``model``; beside
them stable-baselines3's PPO with the same hyperparameters. README.md with the tables, and a figure.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console

from host.algorithms.ppo import HEPPO
from host.collect.environment_id import reward_threshold
from host.train.log import read_progress
from host.train.preset import preset
from host.train.run import run as train
from sim.tools import BUILD_DIRECTORY

__all__ = ["SEEDS", "card_run", "library_run"]

SEEDS = 3
_CARTPOLE, _PENDULUM = "CartPole-v1", "Pendulum-v1"
_WORKERS = 2
_LIBRARY = "stable-baselines3"

_MEANING = {
    "heppo1": "nothing standardized, 32-bit words",
    "heppo2": "rewards by the statistics of all so far, 32-bit words",
    "heppo3": "rewards and values by the rollout's, 8-bit codes, both restored",
    "heppo4": "the same, rewards kept standardized",
    "heppo5": "rewards by the statistics of all so far and kept so, values restored, 8-bit codes",
}

_INTRODUCTION = """\
# PPO with advantages from the card

`rlfabric train ppo --env ENV --preset NAME --seed N` on card `model`, whose bytes are the
Verilog's. Beside it stable-baselines3's PPO with the same hyperparameters: the reference. Numbers
are mean greedy returns of the best policy of a run, of 20 episodes that did not choose it: on
Pendulum-v1, whose episodes begin anywhere, a good policy's mean of 20 is off by some 20.

Written by `python -m bench.training.advantages docs/advantages`; `make test-long` holds the claim
on CartPole-v1."""


def card_run(env, name, seed):
    """``(mean return, steps, curve)`` of a run; CartPole-v1 ends when it is solved. The curve is of
    (environment steps, greedy return)."""
    out = BUILD_DIRECTORY / "bench" / "training" / f"ppo-{env}-{name}-{seed}"
    config = _config(env, name, seed)
    summary = train(
        config, card="model", out=out, overwrite=True, board="zcu106", console=Console(quiet=True)
    ).summary
    curve = [
        (row["steps"], row["evaluation_return"])
        for row in read_progress(out)
        if row["evaluation_return"] is not None
    ]
    return summary["mean_return"], summary["steps"], curve


def library_run(env, name, seed):
    """The same by stable-baselines3; ``name`` is ignored. Actions are in [-1, 1] there too."""
    import torch
    from gymnasium.spaces import Box
    from gymnasium.wrappers import RescaleAction
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import EvalCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    torch.set_num_threads(1)
    config = _config(env, "heppo1", seed)
    agent, span = config.agent, config.agent.learning_rate_steps / config.steps
    final = agent.learning_rate if agent.learning_rate_final is None else agent.learning_rate_final

    def rate(left):
        return agent.learning_rate + (final - agent.learning_rate) * min(1, (1 - left) / span)

    def wrapped(inner):
        return RescaleAction(inner, -1, 1) if isinstance(inner.action_space, Box) else inner

    model = PPO(
        "MlpPolicy",
        make_vec_env(env, config.env_count, seed=seed, wrapper_class=wrapped),
        learning_rate=rate,
        n_steps=config.steps_per_launch,
        batch_size=agent.batch_size,
        n_epochs=agent.epochs,
        gamma=agent.gamma,
        gae_lambda=agent.gae_lambda,
        clip_range=agent.clip,
        ent_coef=agent.entropy_coefficient,
        vf_coef=agent.value_coefficient,
        max_grad_norm=agent.max_gradient_norm,
        policy_kwargs=dict(log_std_init=agent.log_deviation),
        seed=seed,
        device="cpu",
    )
    out = BUILD_DIRECTORY / "bench" / "training" / f"library-{env}-{seed}"
    watch = EvalCallback(
        make_vec_env(env, 1, seed=seed + 1, wrapper_class=wrapped),
        n_eval_episodes=20,
        eval_freq=config.steps // 12 // config.env_count,
        log_path=out,
        best_model_save_path=out,
        verbose=0,
    )
    model.learn(config.steps, callback=watch)
    seen = np.load(out / "evaluations.npz")
    curve = list(
        zip(seen["timesteps"].tolist(), seen["results"].mean(axis=1).tolist(), strict=True)
    )
    unseen = make_vec_env(env, 1, seed=seed + 2, wrapper_class=wrapped)
    mean, _ = evaluate_policy(PPO.load(out / "best_model"), unseen, 20)
    return float(mean), model.num_timesteps, curve


def _config(env, name, seed):
    config = preset("ppo", "cpu", name, env)
    values = {"seed": seed, "until_solved": env == _CARTPOLE}
    return type(config).from_dict(config.to_dict() | values)


def _call(job):
    function, *arguments = job
    return function(*arguments)


def _figure(results, path):
    """A panel an experiment, a line a seed."""
    names = [*HEPPO, _LIBRARY]
    drawn = Figure(figsize=(12, 2.8), layout="constrained")
    FigureCanvasAgg(drawn)
    panels = drawn.subplots(1, len(names), sharex=True, sharey=True)
    for panel, name in zip(panels, names, strict=True):
        for seed in range(SEEDS):
            *_, curve = results[_PENDULUM, name, seed]
            panel.plot(*zip(*curve, strict=True), lw=1.2, label=f"{seed}")
        panel.axhline(reward_threshold(_PENDULUM), color="gray", ls="--", lw=1)
        panel.set(title=name, xlabel="environment steps")
        panel.tick_params(axis="x", labelrotation=45)
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="greedy return")
    panels[0].legend(title="seed", fontsize=7, title_fontsize=7)
    drawn.savefig(path, dpi=90)


def _tables(results):
    yield from ["", f"## {_CARTPOLE}, preset heppo1, until solved", ""]
    yield from ["| seed | card | stable-baselines3 |", "| ---: | ---: | ---: |"]
    for seed in range(SEEDS):
        cells = [
            f"{mean:.1f} ({steps} steps)"
            for mean, steps, _ in (results[_CARTPOLE, name, seed] for name in ("heppo1", _LIBRARY))
        ]
        yield f"| {seed} | {' | '.join(cells)} |"
    yield from ["", f"## HEPPO's five experiments on {_PENDULUM}", ""]
    yield "| experiment | " + " | ".join(f"seed {s}" for s in range(SEEDS)) + " | mean | what |"
    yield "| --- | " + " | ".join(["---:"] * SEEDS) + " | ---: | --- |"
    for name in [*HEPPO, _LIBRARY]:
        means = [results[_PENDULUM, name, seed][0] for seed in range(SEEDS)]
        cells = " | ".join(f"{mean:.1f}" for mean in means)
        yield f"| {name} | {cells} | {np.mean(means):.1f} | {_MEANING.get(name, 'the reference')} |"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python -m bench.training.advantages FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {}
    for seed in range(SEEDS):
        jobs[_CARTPOLE, "heppo1", seed] = (card_run, _CARTPOLE, "heppo1", seed)
        jobs[_CARTPOLE, _LIBRARY, seed] = (library_run, _CARTPOLE, _LIBRARY, seed)
        jobs[_PENDULUM, _LIBRARY, seed] = (library_run, _PENDULUM, _LIBRARY, seed)
        for name in HEPPO:
            jobs[_PENDULUM, name, seed] = (card_run, _PENDULUM, name, seed)
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
        results = dict(zip(jobs, pool.map(_call, jobs.values()), strict=True))
    _figure(results, folder / f"{_PENDULUM}.png")
    text = [_INTRODUCTION, *_tables(results), "", f"![Greedy returns]({_PENDULUM}.png)"]
    (folder / "README.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
