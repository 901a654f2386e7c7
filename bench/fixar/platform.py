"""A timestep of FIXAR with its host (VI-C, Fig. 9): MuJoCo, the host's work for the card, launches
and transfers, the card.

They follow each other, as in the paper. Environment and host are measured on card ``model``,
without the time of its arithmetic; the card's clocks are computed by ``hw.fixar.pass_clocks``.
Launches and transfers are counted there, and take what machine ``u50_host`` says.
"""

import sys
import time
from dataclasses import replace

from bench import row
from bench.driver import Counted
from bench.fixar.card import precision_of
from bench.fixar.cycles import BATCHES, CLOCK, TASKS, case_of, config_of
from host.cards import open_card
from host.kernels import keep
from host.runs.assembly import build
from host.runs.blas_threads import single_threaded
from host.runs.preset import preset
from host.runs.run_kinds import family_of
from hw.fixar.pass_clocks import acting_cycles, iteration_cycles
from system.tools import BUILD_DIRECTORY

__all__ = ["MACHINE", "card_seconds", "measure", "platform_ips", "rows", "with_launches"]

#: The machine file with the launch and the link of the card, which are assumed.
MACHINE = "u50_host"

_WARM, _STEPS = 10, 100
_SOURCE = f"this run, card model less its arithmetic, mean of {_STEPS} timesteps, one thread"
_WORKED = "worked out, hw.fixar.pass_clocks, at 164 MHz"


def measure(batch, env, warm=_WARM, steps=_STEPS):
    """``({"environment", "runtime", "model"}, Overhead)`` of a timestep of DDPG on card model: mean
    seconds, and its launches and transfers.

    ``environment`` is the simulation of ``env``, ``model`` the twin's arithmetic, and ``runtime``
    the rest of the host's work. ``batch`` is the batch size; ``warm`` gradient steps come before
    the ``steps`` timesteps that are measured.
    """
    config = preset("ddpg", "card", env=env, design="fixar")
    agent = replace(config.agent, batch_size=batch)
    config = replace(config, agent=agent, env_count=1, learning_starts=batch, capacity=4096)
    family = family_of(config)
    folder, _ = keep(
        "fixar",
        "u50",
        BUILD_DIRECTORY / "bench" / "platform",
        verilog=False,
        **config.kernel_values(),
    )
    with single_threaded(), open_card("model") as card:
        kernel = card.load(folder / "kernel.json")
        session = build(config, family.factory(config, kernel))
        session.learner.inline()
        with Counted(kernel) as counted:
            while session.clock.updates < warm:
                session.iterate()
            session.phases.restart()
            before, moved, began = counted.seconds, counted.overhead, time.perf_counter()
            for _ in range(steps):
                session.iterate()
            whole, model = time.perf_counter() - began, counted.seconds - before
        environment = session.phases.seconds["environments"]
        session.close()
    seconds = {"environment": environment, "runtime": whole - model - environment, "model": model}
    means = {name: value / steps for name, value in seconds.items()}
    return means, (counted.overhead - moved) / steps


def card_seconds(learner, batch, precision):
    """Seconds of an iteration and of an ACT of one observation together, by formula, at the paper's
    clock. ``precision`` is a key of ``PRECISIONS``."""
    precision = precision_of(learner, precision)
    clocks = iteration_cycles(learner, batch, precision) + acting_cycles(learner, 1, precision)
    return clocks / CLOCK


def platform_ips(batch, host, card, overhead):
    """Samples a second of timesteps of ``batch`` samples: ``host`` seconds of environment and host,
    ``card`` seconds of the card, and the seconds of the Overhead ``overhead`` follow each other."""
    return round(batch / (host + card + overhead.seconds(MACHINE)))


def rows():
    """The list of rows of a timestep of each task with its host: environment_ms, runtime_ms (the
    rest of the host's work), launch_ms and its counts (launches and transfers, by the machine
    file), card_ms by formula, and platform_ips, samples a second of all together. Empty if mujoco
    is not installed."""
    try:
        import mujoco  # noqa: F401
    except ImportError as error:
        print(f"fixar with its host is left out: {error}", file=sys.stderr)
        return []
    return [line for task in TASKS for batch in BATCHES for line in _rows_of(task, batch)]


def _rows_of(task, batch):
    env = f"{task}-v5"
    found, overhead = measure(batch, env)
    result = [
        row("fixar", f"{env}, B={batch}", f"{name}_ms", round(1e3 * found[name], 3), "ms",
            reference="FIXAR, Fig. 9" if name == "environment" else None,
            reference_value=2.0 if name == "environment" else None, source=_SOURCE)
        for name in ("environment", "runtime")
    ]  # fmt: skip
    host = found["environment"] + found["runtime"]
    return [*result, *with_launches(task, batch, host, overhead)]


def with_launches(task, batch, host, overhead):
    """The list of rows of a timestep of ``batch`` samples that do not depend on the machine of this
    run but by ``host``, the seconds of its environment and host. ``overhead`` is the Overhead of
    the timestep."""
    learner, case = config_of(task), f"{task}-v5, B={batch}"
    assumed = overhead.source(MACHINE)
    counted = "counted on card model, a mean of timesteps"
    result = [
        row("fixar", case, "launches", round(overhead.launches, 2), "", source=counted),
        row("fixar", case, "transfers", round(overhead.transfers, 2), "", source=counted),
        row("fixar", case, "moved_bytes", round(overhead.moved), "B", source=counted),
        row("fixar", case, "launch_ms", round(1e3 * overhead.seconds(MACHINE), 3), "ms",
            source=assumed),
    ]  # fmt: skip
    for precision in ("full", "half"):
        case, card = case_of(learner, precision, batch), card_seconds(learner, batch, precision)
        paper = {512: ("FIXAR, Table II, peak", 38_780)}.get(batch, ("FIXAR, mean", 25_293))
        result += [
            row("fixar", case, "card_ms", round(1e3 * card, 3), "ms", source=_WORKED),
            row("fixar", case, "platform_ips", platform_ips(batch, host, card, overhead), "1/s",
                reference=paper[0], reference_value=paper[1],
                source=f"host measured on this machine, card worked out at 164 MHz, {assumed}"),
        ]  # fmt: skip
    return result
