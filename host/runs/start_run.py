"""A training run for the command line: makes kernel and card, and runs ``host.runs.loop``."""

from contextlib import ExitStack, contextmanager

import boards
from boards.memory import configured
from host.actors.messages import message_bytes
from host.actors.placement import ActorOptions, open_actors
from host.algorithms.autodiff import check_device
from host.cards import is_simulated, open_card
from host.interrupt import INTERRUPTED, terminating
from host.kernels import card_banks, keep, read_description
from host.runs.loop import train
from host.runs.run_config import spec_of
from host.runs.run_folder import default_folder, run_folder
from host.runs.run_kinds import family_of
from hw.config import check_range
from hw.errors import Failure, UsageError
from sim.verilate import TOOLS
from system.cache import say
from system.tools import BUILD_DIRECTORY, require

__all__ = ["on_card", "run", "start"]

#: default number of launches in a trace: one clock of a trace takes kilobytes
TRACE_LAUNCHES = 20

#: name of the card of a run that needs none
NO_CARD = "none"


def start(config, **options):
    """As ``run``, but prints the result and returns the exit code."""
    try:
        result = run(config, **options)
    except KeyboardInterrupt as error:  # typer would end the program without a word
        say("; ".join(["interrupted", *getattr(error, "__notes__", ())]))
        return INTERRUPTED
    mean = result.summary["mean_return"]
    if mean is not None:
        words = "solved" if result.summary["solved"] else "not solved"
        if result.summary["reward_threshold"] is None:
            words = f"{config.env} has no threshold"
        print(f"mean return {mean:.1f}, {words}, in {result.summary['seconds']:.0f} s")
    if result.plot.exists():
        print(result.plot)
    return result.exit_code


def run(
    config,
    *,
    card,
    out=None,
    preset_name=None,
    board="u200",
    resume=False,
    overwrite=False,
    trace=False,
    trace_launches=TRACE_LAUNCHES,
    kernel=None,
    console=None,
    callback=None,
    actors=None,
):
    """Makes the kernel of a RunConfig, opens ``card`` and calls ``host.runs.loop.train``; returns
    the TrainResult.

    A simulated card has the board's memory banks; if they can be joined, as many as the run's
    experiences need are joined. Its kernel is generated for the run, with the run's capacity and
    the agent's networks, or, for advantages, with a row for each environment and space for a
    rollout, however its episodes end. A real card has the kernel that was built under
    ``build/<board>/<kernel>``: ``replay``, the algorithm with learner card, or ``gae`` for ppo. A
    run that needs no kernel has no card.

    Parameters
    ----------
    config : RunConfig
    card, board : str
        Kind of card, as for ``open_card``; name of the board.
    out : path, optional
        None: ``host.runs.run_folder.default_folder``, with the next number for a new run unless
        ``overwrite`` is set.
    preset_name : str, optional
        Name of the run's preset, a part of the default folder's name.
    resume, overwrite : bool
        Whether an earlier run in ``out`` is continued, or replaced: see
        ``host.runs.run_folder.run_folder``.
    trace : bool
        Whether to write a waveform, ``trace.vcd``, into the folder; only with card sim.
    trace_launches : int
        Launches after which the trace ends; the first two are the kernel's check and set-up.
    kernel : dict, optional
        Fields of the kernel's config, as for ``host.settings.override``, if one is generated.
    console : rich.console.Console, optional
        Where progress is shown.
    callback : callable, optional
        As for ``host.runs.loop.train``.
    actors : ActorOptions, optional
        Where the actors of a config with ``actors`` are; None: in processes of this machine.
    """
    told = dict(resume=resume, console=console, callback=callback)
    check_range("trace_launches", trace_launches, 1, 1 << 40)
    card = _card_of(config, card)
    numbered = out is None and not overwrite
    if out is None:
        out = default_folder(config, card, preset_name or config.algorithm.default_preset)
    if trace and card != "sim":
        raise UsageError(f"--trace must be with card sim, not {card}")
    if config.learner == "cpu":
        check_device(config.device)  # before a kernel is built, also if torch is missing
    if card == "sim":
        require(*TOOLS)
    with (
        terminating(),
        run_folder(out, numbered=numbered, resume=resume, overwrite=overwrite) as folder,
    ):
        traced = dict(trace=folder / "trace.vcd", trace_launches=trace_launches) if trace else {}
        with ExitStack() as stack:
            if config.actors:
                told["actors"] = stack.enter_context(_acting(config, actors or ActorOptions()))
            opened = stack.enter_context(on_card(config, card, board, kernel, **traced))
            factory, _, description = opened
            return train(config, factory, out=folder, card=card, kernel=description, **told)


def _acting(config, options):
    """``open_actors`` for a run, with a bound of its messages' bytes."""
    size = message_bytes(spec_of(config), config.message_steps)
    return open_actors(config.actors, options, size)


@contextmanager
def on_card(config, card, board="u200", kernel=None, **options):
    """A context manager that opens the card of a run, and closes it; its value is ``(factory,
    kernel, description)``.

    ``factory`` is as for ``host.runs.assembly.build``; ``kernel`` is the loaded Kernel and
    ``description`` its KernelDescription, both None for a run that needs no card. Arguments are as
    for ``run``; ``options`` are further ones of ``open_card``.
    """
    family, card = family_of(config), _card_of(config, card)
    if card == NO_CARD:
        _refuse(kernel, "must not be set in a run without a card")
        yield family.factory(config, None), None, None
        return
    spec = spec_of(config)
    path, description = _kernel(config, spec, card, board, kernel or {})
    if description is not None:
        options["banks"] = _banks(config, spec, description, boards.get(board, config.kernel))
    with open_card(card, **options) as opened:
        description = description or read_description(path)
        loaded = opened.load(path)
        if loaded.description.to_json() != description.to_json():
            raise Failure(f"{path} must be the kernel of this run, not another's")
        yield family.factory(config, loaded), loaded, description


def _kernel(config, spec, card, board, settings):
    """Path and KernelDescription of the kernel that is generated for a run; for a real card the
    path of the kernel that was built before, and None."""
    design = config.kernel
    if is_simulated(card):
        folder, description = keep(
            design,
            board,
            BUILD_DIRECTORY / "train",
            verilog=card == "sim",
            shown_names=config.run_names | {name: f"kernel.{name}" for name in settings},
            other_prefix="kernel.",
            **config.kernel_values(spec) | settings,
        )
        return folder / "kernel.json", description
    _refuse(settings, f"must be set when the kernel is built, not with card {card}")
    return BUILD_DIRECTORY / boards.get(board).name / design / "kernel.json", None


def _banks(config, spec, description, board):
    """The memory banks of each master of a simulated card's kernel."""
    taken = config.stored_bytes(spec, configured(description)[1], board)
    if taken is not None:  # if it is more than there is, the buffer's error says how much fits
        taken = min(taken, board.largest_bank.size)
    return card_banks(description, board, storage_bytes=taken)


def _card_of(config, card):
    """``card``, or NO_CARD if the run needs none; ValueError if there is no card of this name."""
    if not config.kernel:
        return NO_CARD
    is_simulated(card)
    return card


def _refuse(settings, why):
    """ValueError if there are ``settings`` of a kernel that is not generated for the run."""
    for name in settings or ():
        raise UsageError(f"kernel.{name} {why}")
