"""Actors from the command line: how many, and where."""

from host.actors.cluster import joined
from host.actors.placement import ActorOptions, actors_of
from hw.errors import UsageError
from system.cache import say

__all__ = ["acting"]


def acting(text, count=None, *, fixed=False, inline=False, **options):
    """``(fields, ActorOptions)`` of ``--actors`` and the options beside it: fields of the run's
    config, None where the user said nothing.

    Parameters
    ----------
    text : str or None
        N or HOST:PORT.
    count : int, optional
        Actors on a cluster; None: its free CPUs less one, which is printed.
    fixed, inline : bool
        Whether messages are taken in turn; whether actors are in this process, which implies it.
    options : further fields of ActorOptions

    UsageError if the options do not belong together; Failure if a cluster does not answer.
    """
    number, address = (None, None) if text is None else actors_of(text)
    made = ActorOptions(address=address, inline=inline, **options)
    if text is None:
        for name, value in (("deterministic", fixed), ("inline", inline), ("actor_count", count)):
            if value:
                raise UsageError(f"{name} must be with --actors, not without")
        return {}, made
    if count is not None and address is None:
        raise UsageError(f"actor_count must be with the address of a cluster, not {text!r}")
    if address is not None and count is None:
        free = int(joined(address)["free"])
        count = max(1, free - 1)
        say(f"{count} actors: {free} CPUs of the cluster are free")
    fields = {"actors": number if address is None else count}
    return fields | ({"actor_order": "fixed"} if fixed or inline else {}), made
