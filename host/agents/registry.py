"""All algorithms by name: the one list to which a new algorithm is added, with its line in
``host.summaries``. An algorithm is imported when it is asked for.

A user's own algorithm needs no line here: an installed package has an entry point of group
``rlfabric.algorithms``, and an algorithm in any module that can be imported is ``MODULE:NAME``. A
trainer, a class with torch's code alone, is ``FILE.py:CLASS`` (``host.trainers.trainer``).
"""

from host.modules import check_trusted, import_named
from host.rules import check_choice
from host.summaries import HEPPO, PRECISIONS, SUMMARIES
from hw.errors import UsageError
from hw.extension import LazyEntry, Registry

__all__ = ["ALGORITHMS", "find", "find_named", "find_trusted", "known_trainer"]


def _algorithm():
    from host.algorithms.algorithm import Algorithm

    return Algorithm


def _dqn():
    from host.algorithms.dqn import DQN

    return DQN


def _ddpg():
    from host.fixar.fixar_ddpg import FIXAR_DDPG

    return FIXAR_DDPG


def _td3():
    from host.algorithms.td3 import TD3

    return TD3


def _sac():
    from host.algorithms.sac import SAC

    return SAC


def _ppo():
    from host.advantages.ppo import PPO

    return PPO


def _a3c():
    from host.a3c.agent import A3C

    return A3C


_LOADS = {"dqn": _dqn, "ddpg": _ddpg, "td3": _td3, "sac": _sac, "ppo": _ppo, "a3c": _a3c}
_PRESETS = {"ddpg": PRECISIONS, "ppo": tuple(HEPPO)}
_OURS = {
    name: LazyEntry(load, summary=SUMMARIES[name], presets=_PRESETS.get(name, ()))
    for name, load in _LOADS.items()
}
ALGORITHMS = Registry("rlfabric.algorithms", _algorithm, _OURS)


def find(name, field="algo"):
    """The Algorithm called ``name``. If there is none: ValueError with the known names, whose text
    begins with ``field``."""
    check_choice(field, name, ALGORITHMS)
    return ALGORITHMS[name]


def find_named(name):
    """The Algorithm that a user named: a known name, or ``MODULE:NAME`` or ``FILE.py:CLASS``, whose
    module is imported, and which is known from then on. ValueError if there is none, if NAME is no
    Algorithm, or if CLASS is no trainer."""
    module, _, attribute = name.rpartition(":")
    if module.endswith(".py") and name not in ALGORITHMS:
        from host.trainers.trainer import trainer_algorithm

        ALGORITHMS[name] = trainer_algorithm(name)
    elif module and name not in ALGORITHMS:
        found = getattr(import_named(module, "ALGO", name), attribute, None)
        if not isinstance(found, _algorithm()):
            raise UsageError(f"ALGO must name an Algorithm of {module}, not {name!r}")
        ALGORITHMS[name] = found
    return find(name, "ALGO")


def known_trainer(name, kind):
    """The Algorithm of a trainer's class, which is known by ``name``, ``FILE.py:CLASS``, from then
    on, and is not imported. UsageError if it is no trainer."""
    from host.trainers.trainer import algorithm_of

    ALGORITHMS[name] = algorithm_of(name, kind)
    return ALGORITHMS[name]


def find_trusted(name, modules, file):
    """As ``find_named``, for a name that is written in ``file``. ``MODULE:NAME`` or
    ``FILE.py:CLASS`` is imported only if MODULE or FILE.py is one of ``modules``; ValueError for
    another one, unless it is known already."""
    if name not in ALGORITHMS:
        check_trusted(name, modules, file, "algorithm")
    return find_named(name)
