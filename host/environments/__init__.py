"""Environments. Read ``environment`` (steps with their true successors), then ``collector``, the
base class for experience of a run; collectors of each kind are in ``host.replay.nstep``,
``host.advantages.rollout`` and ``host.a3c.round_collector``.
"""
