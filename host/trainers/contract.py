"""What a trainer promises: a user's class with torch's code alone, such as PEARL's
``set_train_function`` takes (PEARL III, Listing 1).

    class Trainer:
        def __init__(self, observation, action, width=64): ...
        def get_action(self, obs): ...
        def update_policy(self, obs, action, reward, next_obs, done): ...
"""

import inspect
import traceback
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, make_dataclass

from hw.config import ConfigBase, freeze_lists
from hw.errors import UsageError

__all__ = ["EXPERIENCE", "Contract", "Experiences", "calling", "contract_of"]

#: What an experience has -> the names by which a trainer may ask for it.
EXPERIENCE = {
    "obs": ("obs", "state", "states", "observation", "observations"),
    "action": ("action", "actions"),
    "reward": ("reward", "rewards"),
    "next_obs": ("next_obs", "next_state", "next_states", "next_observation", "next_observations"),
    "done": ("done", "dones", "terminated"),
    "discount": ("discount", "discounts"),
    "weights": ("weights", "weight"),
}
_MEANINGS = {name: what for what, names in EXPERIENCE.items() for name in names}
#: Defaults of an argument that JSON and the command line have; others cannot be set.
_PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Contract:
    """The methods of a trainer's class.

    kind : type
        The class. It is made with ``(observation, action)``, how many numbers an observation has,
        and how many actions there are, or components of an action.
    arguments : dict or None
        Argument of ``update_policy`` -> what of an experience it is, a key of EXPERIENCE; None: its
        one argument is a dict of them all (``Experiences``).
    options : type
        A config whose fields are the further arguments with which the class is made.
    """

    kind: type
    arguments: dict | None
    options: type

    @property
    def takes(self):
        """What of an experience ``update_policy`` takes; the empty set if it is a dict."""
        return frozenset((self.arguments or {}).values())


class Experiences(Mapping):
    """The dict that ``update_policy`` may take: a batch by any of the names of EXPERIENCE.

    ``asked`` is the set of what was asked for. UsageError for a name that no experience has. Names
    in ``unlisted`` can be asked for, but are no keys, so that ``dict(batch)`` is without them.
    """

    def __init__(self, values, unlisted=()):
        self._values, self.asked = values, set()
        self._listed = [name for name in values if name not in unlisted]

    def __getitem__(self, name):
        self.asked.add(_meaning(name))
        return self._values[_meaning(name)]

    def __contains__(self, name):
        return name in _MEANINGS

    def __iter__(self):
        return iter(self._listed)

    def __len__(self):
        return len(self._listed)


@contextmanager
def calling(method, kind):
    """A context manager, in which ``method`` of a trainer's class ``kind`` is called: what it
    raises becomes a UsageError that has the line of the class' file."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        file = inspect.getsourcefile(kind)
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == file]
        place = f", line {lines[-1]}" if lines else ""
        first = f"{type(error).__name__}: {error}".splitlines()[0]
        name = f"{method} of {kind.__name__}"
        raise UsageError(f"{name} must return, not raise {first}{place}") from error


def contract_of(kind, where):
    """The Contract of the class ``kind``, which is at ``where``, for the errors' texts. UsageError
    if a method is missing, or if ``update_policy`` has an argument that no experience has."""
    for name in ("get_action", "update_policy"):
        if not callable(getattr(kind, name, None)):
            raise UsageError(f"{name} must be a method of {where}, not missing")
    _, *made = inspect.signature(kind.__init__).parameters.values()
    if len(made) < 2 or made[0].kind not in _POSITIONAL:
        raise UsageError(f"{where} must be made with (observation, action), not {_written(made)}")
    return Contract(kind, _arguments(kind), _options(made[2:], where))


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _written(parameters):
    return f"({', '.join(map(str, parameters))})"


def _meaning(name):
    """What of an experience ``name`` is."""
    if name not in _MEANINGS:
        known = ", ".join(EXPERIENCE)
        raise UsageError(f"update_policy must take what an experience has ({known}), not {name!r}")
    return _MEANINGS[name]


def _arguments(kind):
    _, *taken = inspect.signature(kind.update_policy).parameters.values()
    needed = [each for each in taken if each.default is each.empty or each.name in _MEANINGS]
    if len(needed) == 1 and needed[0].name not in _MEANINGS and needed[0].kind in _POSITIONAL:
        return None
    return {each.name: _meaning(each.name) for each in needed}


def _options(parameters, where):
    """A config of ``parameters``. A default that JSON cannot write is left as it is."""
    fields = []
    for each in parameters:
        default = tuple(each.default) if isinstance(each.default, list) else each.default
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        if default is each.empty:
            raise UsageError(f"{each.name} of {where} must have a default, not none")
        if isinstance(default, _PLAIN) or (
            isinstance(default, tuple) and all(isinstance(part, _PLAIN) for part in default)
        ):
            fields.append((each.name, type(default), default))
    lists = [name for name, kind, _ in fields if kind is tuple]
    methods = {
        "__doc__": f"The further arguments of {where}.",
        "__post_init__": lambda config: freeze_lists(config, *lists),
    }
    options = dict(bases=(ConfigBase,), namespace=methods, frozen=True, kw_only=True)
    return make_dataclass("TrainerOptions", fields, **options)
