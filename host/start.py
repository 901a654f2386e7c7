"""A training run as the command line asks for it: config, kernel, card, then ``host.train``."""

from contextlib import closing
from functools import partial

import boards
from host.agents.card import kernel_settings
from host.agents.environment import make_envs, sizes
from host.agents.train_config import preset
from host.card import open_card
from host.generate import describe, generate, override
from host.runtime.learner import LearningReplay
from host.runtime.replay import PrioritizedReplayBuffer
from host.train import train
from sim.card.memory import Bank
from sim.tools import BUILD_DIRECTORY

__all__ = ["run", "start"]


#: learner -> what the kernel's memory is to the host
_BUFFERS = {"cpu": PrioritizedReplayBuffer, "card": LearningReplay}

#: settings that are the kernel's
_KERNEL = "kernel."


def start(
    *, algo, learner, env, card, board, steps, seed, out, resume, until_solved, trace, settings
):
    """Train with the replay memory, and the learner if it is there, on ``card``; return the exit
    code.

    The simulated cards have the board's memory banks, and a kernel generated for the run: as large
    as its capacity, with the agent's networks. A real card has the kernel that was built, under
    ``build/<board>/<kernel>``: ``replay``, or the algorithm with learner card.

    Parameters
    ----------
    algo, learner, env, steps, seed, until_solved
        As in ``TrainConfig``; ``env`` or ``steps`` None is the preset's.
    card, board : str
    out : Path
    resume, trace : bool
        ``trace`` writes ``out/trace.vcd``, on card sim alone.
    settings : dict
        Other fields of ``TrainConfig``, as for ``host.generate.override``; ``kernel.<field>`` of
        the kernel's config, where one is generated.
    """
    values = dict(seed=seed, until_solved=until_solved)
    values |= {name: x for name, x in (("env", env), ("steps", steps)) if x is not None}
    kernel = {name: value for name, value in settings.items() if name.startswith(_KERNEL)}
    own = {name: value for name, value in settings.items() if name not in kernel}
    config = override(preset(algo, learner), {**own, **values})
    asked = {name.removeprefix(_KERNEL): value for name, value in kernel.items()}
    result = run(config, card=card, board=board, out=out, resume=resume, trace=trace, kernel=asked)
    mean = result.summary["mean_return"]
    if mean is not None:
        words = "solved" if result.summary["solved"] else "not solved"
        print(f"mean return {mean:.1f}, {words}, in {result.summary['seconds']:.0f} s")
    print(result.plot)
    return result.exit_code


def run(config, *, card, out, board="u200", resume=False, trace=False, kernel=None, console=None):
    """``host.train.train`` of a TrainConfig on ``card``, with its kernel; the TrainResult.

    ``kernel`` : fields of the generated kernel's config. The others are ``start``'s.
    """
    if trace and card != "sim":
        raise ValueError(f"--trace must be with card sim, not {card}")
    options, build = {}, BUILD_DIRECTORY
    design = "replay" if config.learner == "cpu" else config.algo
    if card in ("model", "sim"):
        banks = boards.get(board).banks
        options["banks"] = tuple(Bank(bank.name, bank.size) for bank in banks)
        build = BUILD_DIRECTORY / "train"
        make = generate if card == "sim" else describe
        make(design, board, build, **_kernel_values(config), **(kernel or {}))
    elif kernel:
        name = next(iter(kernel))
        raise ValueError(
            f"{_KERNEL}{name} must be set when the kernel is built, not with card {card}"
        )
    if trace:
        out.mkdir(parents=True, exist_ok=True)
        options["trace"] = out / "trace.vcd"
    with open_card(card, **options) as opened:
        loaded = opened.load(build / boards.get(board).name / design / "kernel.json")
        buffer = partial(_BUFFERS[config.learner], loaded)
        return train(config, buffer, out=out, card=card, resume=resume, console=console)


def _kernel_values(config):
    """What a run asks of the kernel that is generated for it."""
    values = {"capacity": config.capacity}
    if config.learner == "card":
        with closing(make_envs(config.env, 1, config.algo)) as envs:
            learner = kernel_settings(config, *sizes(envs))
        learner["batch"] = config.agent.batch_size
        values |= {f"learner.{name}": value for name, value in learner.items()}
    return values
