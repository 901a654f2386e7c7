"""Default runs of an algorithm, on a learner, in an environment."""

from host.agents.registry import ALGORITHMS, find
from host.environments.environment import has_continuous_actions, has_images
from host.environments.environment_id import namespace_of
from host.environments.task_ids import counterpart
from host.rules import check_choice
from host.runs.run_config import LEARNERS
from host.runs.run_kinds import CONFIGS
from hw.errors import UsageError

__all__ = ["default_learner", "preset"]


def default_learner(algo, env=None):
    """The default learner, "card" or "cpu", of the algorithm called ``algo`` in ``env``.

    It is the algorithm's ``learner`` if a kernel trains it. It is "cpu" if none does, and if it
    would learn from images in a replay memory, which no kernel does. ``env`` None stands
    for an environment without images.
    """
    algorithm = find(algo)
    from_memory = algorithm.learns_from == "replay" and algorithm.images
    if env is not None and from_memory and has_images(env, algorithm):
        return "cpu"
    return algorithm.learner if algorithm.kernel else "cpu"


def preset(algo, learner, name=None, env=None, design="own", *, continuous=None):
    """The default config of an algorithm on a learner, in an environment.

    Parameters
    ----------
    algo, learner : str
        Name of the algorithm; "cpu" or "card", where its gradient steps are done.
    name : str, optional
        One of the algorithm's presets; None: its default.
    env : str, optional
        None: the algorithm's own.
    design : str
        Design of the kernel that trains it; "own": the one with the algorithm's name.
    continuous : bool, optional
        Whether the environment's actions are a Box; None: the environment is made to find out, if
        the algorithm has defaults for such actions.

    ValueError for a wrong argument, and as in ``has_continuous_actions``.
    """
    algorithm = find(algo)
    check_choice("learner", learner, LEARNERS)
    names = algorithm.presets
    if name is not None and not names:
        having = [each for each in ALGORITHMS.values() if each.presets]
        having = "; ".join(f"{each.name} has {', '.join(each.presets)}" for each in having)
        raise UsageError(
            f"preset must be none for {algo}, which has no presets, not {name!r} ({having})"
        )
    if name is not None and name not in names:
        raise UsageError(f"preset must be one of {', '.join(names)}, not {name!r}")
    known = algorithm.defaults.get("env") if env is None else env
    layers = [algorithm.defaults, *_in_environment(algorithm, learner, known, continuous)]
    layers += [{} if env is None else {"env": env}]
    if design != "own":
        check_choice("design", design, ("own", *algorithm.designs))
        layers.append({"design": design, **algorithm.designs[design]})
    if chosen := name or algorithm.default_preset:
        layers.append({"agent": names[chosen]})
    values = {"algo": algo, "learner": learner}
    for layer in layers:
        agent = values.get("agent", {}) | layer.get("agent", {})
        values |= layer | {"agent": agent}
    return CONFIGS[algorithm.learns_from].from_dict(values)


def _in_environment(algorithm, learner, env, continuous):
    """Yields defaults of the learner and of the environment ``env``, in the order in which they are
    applied; ``continuous`` as in ``preset``. A shipped task has the defaults of gymnasium's
    environment with its physics."""
    name, on_card = counterpart((env or "").rpartition(":")[2]), learner == "card"
    names = (name, f"{namespace_of(name)}/")
    known = [each for each in names if each in algorithm.environments]
    if known:
        name = known[0]
        yield algorithm.environments[name]
        if on_card:
            yield algorithm.card_environments.get(name, {})
        return
    if on_card:
        yield algorithm.card
    if env is None or not algorithm.continuous:
        return
    if has_continuous_actions(env) if continuous is None else continuous:
        yield algorithm.continuous
