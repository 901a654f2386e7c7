"""This machine's processes, as Linux has them in /proc: whether other work runs, and the memory of
a run's processes."""

import os
import sys
import time
from pathlib import Path

__all__ = ["NOT_QUIET", "idle_share", "memory", "pss", "quiet", "started"]

#: Value of a row of wall time that was not measured, because other work ran.
NOT_QUIET = "not quiet"
#: Share of their time that quiet cores are idle.
_QUIET = 0.9
_PROC = Path("/proc")
_WATCHED_S, _TRIES = 1.0, 5
#: How Ray names the process of an actor.
_ACTOR = "ray::CollectingWorker"


def quiet():
    """Whether the cores are quiet now, so that wall time can be measured; stderr says if not. They
    have five seconds to become so, because Ray starts a process for the next actor when one has
    begun."""
    for _ in range(_TRIES):
        if (share := idle_share()) >= _QUIET:
            return True
    idle, least = f"{100 * share:.1f} %", f"{100 * _QUIET:.0f} %"
    print(f"not quiet: the cores are idle {idle} of the time, not {least}", file=sys.stderr)
    return False


def idle_share(seconds=_WATCHED_S):
    """The share of their time that the cores of this process have been idle, from now on for so
    many ``seconds``."""
    idle, whole = _times()
    time.sleep(seconds)
    idle_then, whole_then = _times()
    return (idle_then - idle) / max(1, whole_then - whole)


def _times():
    """Ticks of all cores together: without work, and all."""
    cores = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    idle = whole = 0
    for line in (_PROC / "stat").read_text(encoding="utf-8").splitlines():
        name, *values = line.split()
        if name in cores:
            ticks = [int(value) for value in values[:8]]  # guests' ticks are in those of the user
            idle += ticks[3] + ticks[4]
            whole += sum(ticks)
    return idle, whole


def memory():
    """``{what: bytes}``: the proportional memory (PSS, where pages that n processes share count as
    an n-th of them) of this process, of an actor, and of both with all other processes that this
    one has started. Without actors of Ray the mean actor is left out."""
    below = started(os.getpid())
    taken = {pid: pss(pid) for pid in below}
    actors = [taken[pid] for pid, name in below.items() if name.startswith(_ACTOR)]
    found = {"all processes": sum(taken.values()), "the run's own process": taken[os.getpid()]}
    return found | ({"an actor, mean": sum(actors) / len(actors)} if actors else {})


def started(pid):
    """``{pid: command line}`` of a process and all that it has started, at whatever depth."""
    parents, names = {}, {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text(encoding="utf-8")
            names[int(folder.name)] = (folder / "cmdline").read_text(
                errors="replace", encoding="utf-8"
            )
        except OSError:  # it has ended
            continue
        parents[int(folder.name)] = int(status.rpartition(")")[2].split()[1])
    found, before = {pid} & names.keys(), 0
    while len(found) > before:
        before = len(found)
        found |= {each for each, parent in parents.items() if parent in found}
    return {each: names[each] for each in found}


def pss(pid):
    """Bytes of a process' proportional memory; 0 if it has ended."""
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:")), 0
    )
