"""All algorithms by name: the one list to which a new algorithm is added.

A user's own algorithm needs no line here: an installed package has an entry point of group
``rlfabric.algorithms``, and an algorithm in any module that can be imported is ``MODULE:NAME``. A
trainer, a class with torch's code alone, is ``FILE.py:CLASS`` (``host.trainers.trainer``).
"""

from host.a3c.agent import A3C
from host.advantages.ppo import PPO
from host.algorithms.algorithm import Algorithm
from host.algorithms.dqn import DQN
from host.algorithms.sac import SAC
from host.algorithms.td3 import TD3
from host.fixar.fixar_ddpg import FIXAR_DDPG
from host.modules import check_trusted, import_named
from host.rules import check_choice
from host.trainers.trainer import algorithm_of, trainer_algorithm
from hw.errors import UsageError
from hw.extension import Registry

__all__ = ["ALGORITHMS", "find", "find_named", "find_trusted", "known_trainer"]

_OURS = {algorithm.name: algorithm for algorithm in (DQN, FIXAR_DDPG, TD3, SAC, PPO, A3C)}
ALGORITHMS = Registry("rlfabric.algorithms", Algorithm, _OURS)


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
        ALGORITHMS[name] = trainer_algorithm(name)
    elif module and name not in ALGORITHMS:
        found = getattr(import_named(module, "ALGO", name), attribute, None)
        if not isinstance(found, Algorithm):
            raise UsageError(f"ALGO must name an Algorithm of {module}, not {name!r}")
        ALGORITHMS[name] = found
    return find(name, "ALGO")


def known_trainer(name, kind):
    """The Algorithm of a trainer's class, which is known by ``name``, ``FILE.py:CLASS``, from then
    on, and is not imported. UsageError if it is no trainer."""
    ALGORITHMS[name] = algorithm_of(name, kind)
    return ALGORITHMS[name]


def find_trusted(name, modules, file):
    """As ``find_named``, for a name that is written in ``file``. ``MODULE:NAME`` or
    ``FILE.py:CLASS`` is imported only if MODULE or FILE.py is one of ``modules``; ValueError for
    another one, unless it is known already."""
    if name not in ALGORITHMS:
        check_trusted(name, modules, file, "algorithm")
    return find_named(name)
