"""A3C with its host: Pong's environments and the host's work for a round, compared with the
device's clocks, launches and transfers; and torch on the same rounds with one thread, all in this
run.

FA3C's 2 550 inferences a second (5.2) include its host. Here the time of the device is computed by
``hw.fa3c.round_clocks``, which ``bench.fa3c.rounds`` compares with the Verilog. Launches and
transfers are counted on card ``model``, and take what machine ``u200_host`` says. The host is
measured with an executor that answers at once.
"""

import sys
import time
from statistics import median

import numpy as np

from bench import row
from bench.driver import Counted
from bench.fa3c.rounds import CLOCK
from host.cards import open_card
from host.kernels import keep
from host.runs.assembly import build
from host.runs.blas_threads import single_threaded
from host.runs.preset import preset
from host.runs.run_kinds import family_of
from hw.fa3c.round_clocks import period_clocks
from system.tools import BUILD_DIRECTORY

__all__ = ["MACHINE", "rows", "with_launches"]

#: The machine file with the launch and the link of the card, which are assumed.
MACHINE = "u200_host"

_ENV = "ALE/Pong-v5"
#: Periods of 8 rounds for each population: before the timing begins, and in a turn. Then: turns.
_WARM, _PERIODS, _TURNS = 2, 3, 7
_SOURCE = f"this run, median of {_TURNS}, taken in turn"


class _Answers:
    """An executor that does nothing and answers at once."""

    device_cycles = None

    def __init__(self, policy):
        self._outputs = policy.spec.action_count + 1

    def prepare(self, tasks):
        return tasks

    def run(self, tasks):
        return [
            np.zeros((len(task.agents), self._outputs), np.float32)
            if hasattr(task, "observations")
            else None
            for task in tasks
        ]

    def abort(self):
        pass

    def close(self):
        pass


def _host(session):
    """Leaves only the host's work: environments, actions, errors, rounds in the card's form."""
    session.learner.executor = _Answers(session.policy)
    return session


def _torch(session):
    """Lets the whole session run on one thread."""
    session.learner.inline()
    return session


def _seconds(session, periods, schedule):
    """Seconds and environment steps of a round: means over whole periods of all populations."""
    rounds = periods * schedule.period * session.config.populations
    steps, began = session.clock.steps, time.perf_counter()
    for _ in range(rounds):
        session.iterate()
    return (time.perf_counter() - began) / rounds, (session.clock.steps - steps) / rounds


def _clocks(config, schedule):
    """Mean clocks of a round, once all groups have begun."""
    return float(np.mean(period_clocks(config, schedule)))


def _measure():
    """``{name: seconds of a round}``, steps of a round, seconds of the device for a round, the
    share of the environments in the host's time, and the Overhead of a round."""
    config = preset("a3c", "card", env=_ENV)
    family, cpu_config = family_of(config), preset("a3c", "cpu", env=_ENV)
    work = BUILD_DIRECTORY / "bench" / "platform"
    folder, _ = keep("a3c", "u200", work, verilog=False, **config.kernel_values())
    with single_threaded(with_torch=True), open_card("model") as card:
        kernel = card.load(folder / "kernel.json")
        sessions = {
            "model": build(config, family.factory(config, kernel)),
            "host": _host(build(cpu_config, family.factory(cpu_config, None))),
            "torch": _torch(build(cpu_config, family.factory(cpu_config, None))),
        }
        schedule, found = sessions["model"].collector.schedule, {name: [] for name in sessions}
        device = _clocks(sessions["model"].learner.executor.network.config, schedule) / CLOCK
        for session in sessions.values():
            _seconds(session, _WARM, schedule)
            session.phases.restart()
        with Counted(kernel) as counted:
            for _ in range(_TURNS):
                for name, session in sessions.items():
                    seconds, steps = _seconds(session, _PERIODS, schedule)
                    found[name].append(seconds)
        # Each launch is of a round.
        overhead = counted.overhead / counted.overhead.launches
        phases = sessions["host"].phases.seconds
        share = phases["environments"] / (sum(phases.values()) - phases["other"])
        for session in sessions.values():
            session.close()
    seconds = {name: median(each) for name, each in found.items()}
    return seconds, steps, device, share, overhead


def rows():
    """The list of rows of A3C on Pong with its host, in inferences a second.

    They are device_ips, host_ips and platform_ips (all together, with two populations and with
    one), software_ips of torch and model_ips of card model. launch_ms is the time of a round's
    launch and transfers by the machine file. Two more are shares of the host's time:
    environments_of_host, and host_not_hidden, which does not pass while the device works. Empty if
    ale_py is not installed.
    """
    try:
        import ale_py  # noqa: F401
    except ImportError as error:
        print(f"a3c with its host is left out: {error}", file=sys.stderr)
        return []
    found, steps, device, share, overhead = _measure()
    values = [
        ("device_ips", steps / device, "1/s", "worked out, at 180 MHz"),
        ("host_ips", steps / found["host"], "1/s", f"{_SOURCE}, a thread a group of games"),
        ("environments_of_host", share, "", _SOURCE),
        ("software_ips", steps / found["torch"], "1/s", f"{_SOURCE}, one thread"),
        ("model_ips", steps / found["model"], "1/s", f"{_SOURCE}, two threads"),
    ]
    result = [
        row("fa3c", _case(), name, round(value, 3 if not unit else None), unit, source=source)
        for name, value, unit, source in values
    ]
    return [*result, *with_launches(steps, found["host"], device, overhead)]


def with_launches(steps, host, device, overhead):
    """The list of rows of rounds of ``steps`` inferences that do not depend on the machine of this
    run but by ``host``, the seconds of its work for a round. ``device`` is the seconds of the
    card's clocks, ``overhead`` the Overhead of a round."""
    assumed, counted = overhead.source(MACHINE), "counted on card model, a mean of rounds"
    card = device + overhead.seconds(MACHINE)
    both = max(host, card)
    modelled = f"host measured on this machine, device worked out at 180 MHz, {assumed}"
    paper = dict(reference="FA3C 5.2", reference_value=2550)
    alone = f"{_ENV}, one population, which waits for its environments"
    return [
        row("fa3c", _case(), "transfers", round(overhead.transfers, 2), "", source=counted),
        row("fa3c", _case(), "moved_bytes", round(overhead.moved), "B", source=counted),
        row("fa3c", _case(), "launch_ms", round(1e3 * overhead.seconds(MACHINE), 3), "ms",
            source=assumed),
        row("fa3c", _case(), "platform_ips", round(steps / both), "1/s", **paper,
            source=modelled),
        row("fa3c", _case(), "host_not_hidden", round((both - card) / host, 3), "",
            source=modelled),
        row("fa3c", alone, "platform_ips", round(steps / (host + card)),
            "1/s", **paper, source=modelled),
    ]  # fmt: skip


def _case():
    config = preset("a3c", "card", env=_ENV)
    return f"{_ENV}, {config.populations} populations of {config.population} agents"
