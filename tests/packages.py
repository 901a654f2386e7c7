"""What installed packages require, and how much of a disk they take, by their metadata."""

from importlib import metadata

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["closure", "megabytes", "requirements"]


def requirements(name, extras=(), environment=None, known=lambda name: True):
    """Pairs: a package, and a Requirement of it; of ``name[extras]`` and all that is behind it.

    ``environment``: markers that are not this Python's. What is not installed, or ``known`` says
    False of, is not looked into.
    """
    environment = {**default_environment(), **(environment or {})}
    todo, seen = [(name, extra) for extra in ("", *extras)], set()
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # of an extra that is not installed
            continue
        if not known(name):
            continue
        for requirement in map(Requirement, lines):
            if requirement.marker and not requirement.marker.evaluate(
                {**environment, "extra": extra}
            ):
                continue
            yield name, requirement
            behind = canonicalize_name(requirement.name)
            todo += [(behind, each) for each in ("", *requirement.extras)]


def closure(*extras):
    """``{name: Distribution}`` of all that ``rlfabric[extras]`` brings, itself not among it."""
    names = {canonicalize_name(each.name) for _, each in requirements("rlfabric", extras)}
    return {name: metadata.distribution(name) for name in sorted(names - {"rlfabric"})}


def megabytes(distributions):
    """10^6 bytes of their files, as their RECORDs count them; compiled Python is not among them."""
    return sum(file.size or 0 for each in distributions for file in each.files) / 1e6
