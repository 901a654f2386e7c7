"""What every config shares: JSON round trip and the hash that names a build.

A config is a frozen, keyword-only dataclass; hardware, twin, estimate and host take
the same object.
"""

import hashlib
import json
from collections import defaultdict
from dataclasses import asdict, field, fields, is_dataclass, replace
from functools import lru_cache

from hw.errors import UsageError

__all__ = ["ConfigBase", "check_flag", "check_range", "freeze_lists", "later", "later_fields"]
__all__ += ["value_of", "with_values"]


def check_range(name, value, low, high, why=""):
    """Raises ValueError unless ``value`` is an integer in ``low..high``, both inclusive.

    True and False count as no integers. The message is ``<name> must be an integer in low..high``,
    then ``why`` (such as " at 512 bits"), then ``, not <value>``.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{name} must be an integer in {low}..{high}{why}, not {value!r}")


def check_flag(name, value):
    """Raises ``ValueError("<name> must be True or False, not <value>")`` unless ``value`` is a
    bool."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False, not {value!r}")


def freeze_lists(config, *names):
    """Replaces lists in the fields ``names`` of ``config`` by tuples, nested lists too.

    JSON gives lists. The config is frozen, but is changed in place: call it in ``__post_init__``.
    """
    for name in names:
        object.__setattr__(config, name, _frozen(getattr(config, name)))


def _frozen(value):
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def later(default, **options):
    """A field added to a class of configs after kernels had been made with it. JSON leaves it out
    where it is ``default``, so that older configs keep their JSON and their hashes. ``options``
    go to ``dataclasses.field``."""
    return field(default=default, metadata={"later": True}, **options)


def later_fields(config, prefix=""):
    """``{dotted name: default}`` of the ``later`` fields of ``config`` and of configs inside."""
    found = {}
    for each in fields(config):
        value = vars(config)[each.name]
        if each.metadata.get("later"):
            found[f"{prefix}{each.name}"] = each.default
        elif is_dataclass(value):
            found |= later_fields(value, f"{prefix}{each.name}.")
    return found


def value_of(config, name):
    """The value of the field with a dotted ``name``, such as ``learner.lanes``."""
    for part in name.split("."):
        config = getattr(config, part)
    return config


def with_values(config, values):
    """``config`` with fields replaced, all at once, so that rules across fields see all values.

    values : ``{dotted name: value}`` of fields that exist.

    ValueError if the config has a rule against a value. A part that was made before, with the same
    values in the same config, is the same object, so that what it has computed is not computed
    again.
    """
    parts = defaultdict(dict)
    for name, value in values.items():
        part, _, inside = name.partition(".")
        if inside:
            parts[part][inside] = value
        else:
            parts[part] = value
    changes = {
        part: with_values(getattr(config, part), value) if isinstance(value, dict) else value
        for part, value in parts.items()
    }
    return _replaced(config, tuple(changes.items()))


@lru_cache(maxsize=4096)
def _replaced(config, changes):
    return replace(config, **dict(changes))


class ConfigBase:
    """The base of every config, which is a frozen dataclass: to JSON and back, and a hash.

    Configs in fields of a config must be of this class too.
    """

    def to_dict(self):
        """The values by field, configs as dicts, without ``later`` fields at their default."""
        values = asdict(self)
        for name, default in later_fields(self).items():
            *path, last = name.split(".")
            inside = values
            for part in path:
                inside = inside[part]
            if inside[last] == (asdict(default) if is_dataclass(default) else default):
                del inside[last]
        return values

    def to_json(self):
        """Canonical JSON: sorted keys, no spaces, so equal configs are equal texts."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_dict(cls, values):
        """The config with these ``values`` by field: inverse of ``to_dict``.

        Fields that are absent have their defaults; ValueError for a field that is unknown.
        """
        known = {field.name: field.type for field in fields(cls)}
        for name in values:
            if name not in known:
                raise UsageError(
                    f"{name} must be a field of {cls.__name__} ({', '.join(known)}), not unknown"
                )
        return cls(
            **{
                name: known[name].from_dict(value) if is_dataclass(known[name]) else value
                for name, value in values.items()
            }
        )

    @classmethod
    def from_json(cls, text):
        return cls.from_dict(json.loads(text))

    @property
    def hash64(self):
        """An integer, the first 64 bits of SHA-256 over class name and JSON: equal configs have
        equal hashes."""
        digest = hashlib.sha256(f"{type(self).__name__}:{self.to_json()}".encode()).digest()
        return int.from_bytes(digest[:8], "big")
