"""Finds the environment that ``--env`` names: a gymnasium id, or ``MODULE:ID`` of a package that
registers its own.

``host.modules`` has the rules of what may be imported, and from where.
"""

import difflib
import importlib.util
import re
from contextlib import suppress
from importlib.metadata import entry_points

import gymnasium

from host.modules import current_folder, import_named
from hw.errors import UsageError
from hw.extras import install

__all__ = ["find_spec", "missing_packages", "namespace_of", "reward_threshold"]

#: namespace of ids -> module that registers it when it is imported: of packages without an entry
#: point, and of a checkout
_MODULES = {"ALE": "ale_py", "rlfabric": f"{__package__}.task_ids"}

#: a module of ours, in an ``env`` that an older run has kept -> where it is now
_MOVED = {"rlfabric.host.collect.task_ids": f"{__package__}.task_ids"}

#: namespace -> the extra of rlfabric that installs it
_EXTRAS = {"ALE": "atari", "MinAtar": "minatar"}

#: ids that ale-py registers without a namespace, for old programs
_GAMES = re.compile(r"\w+NoFrameskip-v[04]")
#: extras with packages for gymnasium's own environments; their names are those of its folders
_BROUGHT = ("box2d", "mujoco")

#: gymnasium has no threshold for it; this one needs a swing-up from every start, with little effort
_THRESHOLDS = {"Pendulum-v1": -200.0}


def namespace_of(env):
    """The namespace of an environment's id, such as MinAtar of MinAtar/Breakout-v1; "" if the id
    has none. ale-py's ids without a namespace, such as PongNoFrameskip-v4, count as ALE."""
    name = env.rpartition(":")[2]
    return "ALE" if _GAMES.fullmatch(name) else name.rpartition("/")[0]


def find_spec(env):
    """The ``gymnasium.EnvSpec`` of the environment ``env``: ``ID``, ``NAMESPACE/ID`` or
    ``MODULE:ID``.

    MODULE is imported first, as by ``gymnasium.make``, and so is the module of the environment's
    class; both may be in the current folder. If no id of the namespace is registered, installed
    packages are asked to register their ids: ale-py, and those with an entry point of group
    ``gymnasium.envs``, such as MinAtar. ValueError if the id or its module is unknown; an exception
    in an imported module is not caught.
    """
    module, _, name = env.rpartition(":")
    if module:
        _import(module, name, env)
    namespace = namespace_of(env)
    _register(namespace)
    try:
        return gymnasium.spec(name)
    except gymnasium.error.Error as error:
        meant = _meant(name)
        cure = f"did you mean {' or '.join(meant)}?" if meant else str(error)
        if namespace in _EXTRAS and not _is_registered(namespace):
            cure = f"{install(_EXTRAS[namespace])} has it"
        raise UsageError(
            f"env must be the id of a registered gymnasium environment, not {env!r} ({cure})"
        ) from error


def _meant(name):
    """Ids that ``name`` may have meant: the newest version if it has none, or similar ids."""
    version = re.compile(re.escape(name) + r"-v(\d+)", re.IGNORECASE)
    found = [match for each in gymnasium.registry if (match := version.fullmatch(each))]
    if found:
        return [max(found, key=lambda match: int(match[1]))[0]]
    ids = {each.lower(): each for each in gymnasium.registry}
    return [ids[each] for each in difflib.get_close_matches(name.lower(), ids, cutoff=0.8)]


def missing_packages(env, error):
    """The command that installs the packages that ``env`` needs and lacks. If no command is known,
    the text of ``error``, the exception of gymnasium."""
    entry = str(find_spec(env).entry_point)
    extra = next((name for name in _BROUGHT if f".{name}." in entry), None)
    return install(extra) if extra else str(error)


def reward_threshold(env):
    """The mean return from which on ``env`` counts as solved: gymnasium's threshold, or, if it has
    none, rlfabric's; None if there is neither."""
    spec = find_spec(env)
    return _THRESHOLDS.get(spec.id) if spec.reward_threshold is None else spec.reward_threshold


def _import(module, name, env):
    """Imports the module that registers ``name``, and the module of its class."""
    import_named(_MOVED.get(module, module), "env", env)
    entry = getattr(gymnasium.registry.get(name), "entry_point", None)
    if isinstance(entry, str):
        with current_folder(), suppress(ImportError):  # gymnasium.make raises it again
            importlib.import_module(entry.partition(":")[0])


def _register(namespace):
    """Lets installed packages register ``namespace`` if none of its ids is registered."""
    if not namespace or _is_registered(namespace):
        return
    module = _MODULES.get(namespace)
    if module and importlib.util.find_spec(module):
        importlib.import_module(module)
    for entry in entry_points(group="gymnasium.envs"):
        if entry.name in (namespace, "__root__"):
            entry.load()()


def _is_registered(namespace):
    return any(spec.namespace == namespace for spec in gymnasium.registry.values())
