"""PEARL's Algorithm 1: the devices of replay manager (RM), learner and data storage.

Step 1 takes the pair of devices with the most experiences a second, or the most for each watt. Step
2 places the storage where least time goes into its traffic. Source: PEARL, section VI-B.
"""

from collections import namedtuple
from dataclasses import dataclass
from typing import Annotated

from host.compose.machine import Machine
from host.compose.times import APART, BOTH, Times
from host.rules import POSITIVE, Integer, check_choice, check_fields
from hw.errors import UsageError

__all__ = [
    "Alternative",
    "Assignment",
    "METRICS",
    "Refusal",
    "Sizes",
    "TRANSFERS",
    "WORD_BYTES",
    "assign",
    "best",
    "iteration_us",
    "portability",
    "storage_of",
    "watts_of",
]

#: Bytes of a word: an index, a priority, a number of an experience.
WORD_BYTES = 4
#: What step 1 maximises: experiences a second, or these for each watt.
METRICS = ("throughput", "efficiency")
#: Whether the times of primitives have T_comm in them, or it is added to them.
TRANSFERS = ("included", "added")

#: Keys are compared after rounding to so many digits of a microsecond.
_DIGITS = 9


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What an iteration moves.

    batch : experiences that are drawn and trained, B; their indices and priorities are words.
    inserts : experiences that the actors insert, N_Actor.
    words : words of 4 bytes of an experience, E.
    """

    batch: Annotated[int, Integer(1, 1 << 30)]
    inserts: Annotated[float, POSITIVE]
    words: Annotated[int, Integer(1, 1 << 30)]

    def __post_init__(self):
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """A pair of devices: the replay manager on ``rm``, the learner on ``learner``.

    sample_us, insert_us, update_us, learn_us : microseconds an iteration, with transfers.
    iteration_us : T_itr, equation 7.
    bound_by : "insert" if insertions take longer than learning and updates, else "learn".
    eps : experiences a second, ``B / T_itr``.
    watts : of the cpu and the two devices together, each once; None if one is unknown.
    eps_per_watt : None if ``watts`` is.
    storage : the device of the data storage, step 2.
    traffic_us : the microseconds of the storage's traffic there, without latencies.
    """

    rm: str
    learner: str
    sample_us: float
    insert_us: float
    update_us: float
    learn_us: float
    iteration_us: float
    bound_by: str
    eps: float
    watts: float | None
    eps_per_watt: float | None
    storage: str
    traffic_us: float

    @property
    def devices(self):
        """Names of the devices besides the cpu."""
        return self.rm, self.learner


#: A pair that cannot be: names of the devices, and the reason.
Refusal = namedtuple("Refusal", "rm learner reason")


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What Algorithm 1 found.

    alternatives : tuple of Alternative, in the order of the devices, RM first: Fig. 10's grid.
    refused : tuple of Refusal, of the other pairs.
    choice : the best Alternative.
    portability : Phi(D), equation 8 over all pairs of devices; 0 if one is refused.
    """

    machine: Machine
    times: Times
    sizes: Sizes
    transfers: str
    metric: str
    alternatives: tuple
    refused: tuple
    choice: Alternative
    portability: float


def assign(times, sizes, *, transfers="included", metric="throughput"):
    """The Assignment of a replay manager, a learner and a storage to the devices of a machine.

    Equal pairs in the metric, to 1e-9 us of ``T_itr``, or to 1e-9 of ``T_itr`` times watts: the
    one with the least traffic of the storage; equal in this, too: the first in file order.

    Parameters
    ----------
    times : Times
        The matrix, and the machine. A pair of one device has the times of its row ``both``.
    sizes : Sizes
    transfers : str
        "included": T_comm is in the times. "added": it is added, for words of 4 bytes: B indices
        from RM to learner with sampling, B priorities back with updates, and ``inserts`` priorities
        from the cpu with insertions; none between primitives of one device. Experiences are the
        storage's traffic.
    metric : str
        "throughput" or "efficiency".

    UsageError if no pair is possible, or if the metric is efficiency and the watts of a device are
    unknown.
    """
    check_choice("transfers", transfers, TRANSFERS)
    check_choice("metric", metric, METRICS)
    found, refused = [], []
    machine = times.machine
    for rm in machine.names:
        for learner in machine.names:
            try:
                found.append(_alternative(times, sizes, transfers, rm, learner))
            except UsageError as error:
                refused.append(Refusal(rm, learner, str(error)))
    if not found:
        raise UsageError(f"times must be known for one pair of devices, not none: {refused[0][2]}")
    choice = best(machine, found, metric)
    return Assignment(
        machine=machine,
        times=times,
        sizes=sizes,
        transfers=transfers,
        metric=metric,
        alternatives=tuple(found),
        refused=tuple(refused),
        choice=choice,
        portability=portability([each.eps for each in found] + [0.0] * len(refused)),
    )


def iteration_us(sample_us, insert_us, update_us, learn_us):
    """T_itr in microseconds: ``sample + max(insert, update + learn)`` (PEARL, section VI-B,
    Algorithm 1, equation 7).

    Sampling, learning and updating priorities follow each other; insertions run in parallel with
    the last two. All are microseconds an iteration, with their T_comm.
    """
    return sample_us + max(insert_us, update_us + learn_us)


def portability(rates):
    """Phi, the harmonic mean of ``rates``: ``n / sum(1 / rate)``; 0 if any rate is 0 (PEARL,
    section VII-D, equation 8).

    rates : experiences a second of each device assignment of a machine, Phi(D), or of the best one
        of each machine, Phi(P); 0 for a missing implementation.

    PEARL prints the sum of the rates below the line; the metric that it cites, and its Table IV,
    have the sum of their reciprocals. UsageError if ``rates`` is empty.
    """
    rates = tuple(rates)
    if not rates:
        raise UsageError("rates must be one or more, not none")
    return 0.0 if 0 in rates else len(rates) / sum(1 / rate for rate in rates)


def best(machine, alternatives, metric):
    """The best of ``alternatives`` on a Machine, by ``metric`` as for ``assign``. Each has
    ``devices``, ``iteration_us``, ``watts`` and ``traffic_us``, which is None without a replay
    memory. UsageError if watts are needed and unknown."""
    if metric == "efficiency":
        _check_watts(machine, alternatives)

    def key(each):
        power = each.watts if metric == "efficiency" else 1
        return round(each.iteration_us * power, _DIGITS), round(each.traffic_us or 0.0, _DIGITS)

    return min(alternatives, key=key)  # the first of equals


def _alternative(times, sizes, transfers, rm, learner):
    machine, together = times.machine, rm == learner
    manager, trainer = (times.row(name, BOTH if together else APART) for name in (rm, learner))
    sample, insert, update = map(manager.known, ("sample_us", "insert_us", "update_us"))
    learn = trainer.known("learn_us")
    if transfers == "added":
        if not together:
            sample += machine.transfer_us(rm, learner, WORD_BYTES * sizes.batch)
            update += machine.transfer_us(learner, rm, WORD_BYTES * sizes.batch)
        if rm != machine.cpu.name:
            insert += machine.transfer_us(machine.cpu.name, rm, WORD_BYTES * sizes.inserts)
    total = iteration_us(sample, insert, update, learn)
    eps = 1e6 * sizes.batch / total
    watts = watts_of(machine, rm, learner)
    storage, traffic = storage_of(machine, sizes, rm, learner)
    return Alternative(
        rm=rm,
        learner=learner,
        sample_us=sample,
        insert_us=insert,
        update_us=update,
        learn_us=learn,
        iteration_us=total,
        bound_by="insert" if insert > update + learn else "learn",
        eps=eps,
        watts=watts,
        eps_per_watt=None if watts is None else eps / watts,
        storage=storage,
        traffic_us=traffic,
    )


def watts_of(machine, *names):
    """The watts of the cpu and of the devices called ``names``, each once; None if one is
    unknown."""
    powers = [machine.device(name).watts for name in {machine.cpu.name, *names}]
    return None if None in powers else sum(powers)


def _check_watts(machine, alternatives):
    used = {machine.cpu.name} | {name for each in alternatives for name in each.devices}
    unknown = [each.name for each in machine.devices if each.name in used and each.watts is None]
    if unknown:
        raise UsageError(
            f"watts must be known for metric efficiency, not empty for {', '.join(unknown)}"
        )


def storage_of(machine, sizes, rm, learner):
    """``(device, traffic)`` of the data storage (step 2): of learner, cpu and RM the first with the
    least ``sum C / bandwidth``, in microseconds.

    C is in words an iteration: ``B (E + 1)`` with the learner, ``N_Actor E`` with the actors, ``B``
    with the RM.
    """
    cpu = machine.cpu.name
    words = (
        (learner, sizes.batch * (sizes.words + 1)),
        (cpu, sizes.inserts * sizes.words),
        (rm, sizes.batch),
    )

    def traffic(place):
        return sum(machine.traffic_us(place, name, WORD_BYTES * count) for name, count in words)

    tried = [(name, traffic(name)) for name in (learner, cpu, rm)]
    return min(tried, key=lambda each: round(each[1], _DIGITS))
