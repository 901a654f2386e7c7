"""A training run as the command line asks for it: config, kernel, card, then ``host.train``."""

from functools import partial

import boards
from host.card import open_card
from host.generate import generate, override
from host.runtime.replay import PrioritizedReplayBuffer
from host.train import TrainConfig, train
from sim.card.memory import Bank
from sim.tools import BUILD_DIRECTORY

__all__ = ["start"]


def start(*, algo, env, card, board, steps, seed, out, resume, until_solved, trace, settings):
    """Train with the replay memory on ``card``; return the exit code.

    The simulated cards have the board's memory banks, and a kernel generated for the run, as large
    as its capacity. A real card has the kernel that was built, under ``build/<board>/replay``.

    Parameters
    ----------
    algo, env, steps, seed, until_solved
        As in ``TrainConfig``; ``steps`` None is its default.
    card, board : str
    out : Path
    resume, trace : bool
        ``trace`` writes ``out/trace.vcd``, on card sim alone.
    settings : dict
        Other fields of ``TrainConfig``, as for ``host.generate.override``.
    """
    values = dict(algo=algo, env=env, seed=seed, until_solved=until_solved)
    if steps is not None:
        values["steps"] = steps
    config = override(TrainConfig(), {**settings, **values})
    if trace and card != "sim":
        raise ValueError(f"--trace must be with card sim, not {card}")
    options, build = {}, BUILD_DIRECTORY
    if card in ("model", "sim"):
        banks = boards.get(board).banks
        options["banks"] = tuple(Bank(bank.name, bank.size) for bank in banks)
        build = BUILD_DIRECTORY / "train"
        generate("replay", board, build, capacity=config.capacity)
    if trace:
        out.mkdir(parents=True, exist_ok=True)
        options["trace"] = out / "trace.vcd"
    with open_card(card, **options) as opened:
        kernel = opened.load(build / boards.get(board).name / "replay" / "kernel.json")
        buffer = partial(PrioritizedReplayBuffer, kernel)
        result = train(config, buffer, out=out, card=card, resume=resume)
    mean = result.summary["mean_return"]
    if mean is not None:
        words = "solved" if result.summary["solved"] else "not solved"
        print(f"mean return {mean:.1f}, {words}, in {result.summary['seconds']:.0f} s")
    print(result.plot)
    return result.exit_code
