"""Sets fields of a config by texts ``--set FIELD=VALUE``: finds the field, and reads the value."""

import difflib
from dataclasses import fields, is_dataclass, replace
from typing import get_args

from host.rules import plain
from hw.errors import UsageError

__all__ = ["fields_of", "flat", "integer", "leaves", "override", "resolve", "text_of", "unknown"]
__all__ += ["values_of"]


def fields_of(texts, **named):
    """``{field: value}`` of ``texts``, FIELD=VALUE of each ``--set``, whose values stay texts; and
    of ``named``, fields with an option of their own, unless they are None."""
    values = {name: value for name, value in named.items() if value is not None}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"--set must be FIELD=VALUE, not {text!r}")
        values[name] = value
    return values


def leaves(config, inside=()):
    """Yields ``(dotted name, value, path)`` for every field of ``config``, and of the configs in
    its fields, that is not itself a config.

    ``path`` is a tuple of ``(class of a config, field's name)``, from the outermost config to the
    innermost. ``inside`` is the path of ``config`` itself, if it is a part of another one.
    """
    for field in fields(config):
        value, path = getattr(config, field.name), (*inside, (type(config), field.name))
        if is_dataclass(value):
            yield from leaves(value, path)
        else:
            yield ".".join(name for _, name in path), value, path


def values_of(config):
    """``{dotted name: value}`` of every field that is not itself a config."""
    return {leaf: value for leaf, value, _ in leaves(config)}


def resolve(config, name, hint="", before=""):
    """The dotted name of the field of ``config`` that ``name`` means: ``name`` itself, or the only
    dotted name whose last parts are ``name``.

    ValueError if there is none, or more than one. The error's text proposes similar names, or else
    gives ``hint``; it has ``before`` in front of each name.
    """
    names = [leaf for leaf, _, _ in leaves(config)]
    found = [leaf for leaf in names if leaf == name or leaf.endswith(f".{name}")]
    if name in found or len(found) == 1:
        return name if name in found else found[0]
    if found:
        found = ", ".join(before + each for each in found)
        raise UsageError(f"{before}{name} must be one of {found}, not several")
    raise unknown(name, names, hint, before)


def unknown(name, names, hint="", before=""):
    """The UsageError for ``name``, which is not among ``names``, dotted names of fields; for
    ``hint`` and ``before`` see ``resolve``."""
    close = [before + each for each in _close(name, names)]
    every = ", ".join(before + each for each in names)
    known = f"did you mean {' or '.join(close)}?" if close else hint or f"there are {every}"
    return UsageError(f"{before}{name} must be the name of a field, not unknown ({known})")


def _close(name, names):
    """Those of dotted ``names`` that are inside ``name``, that it abbreviates (lr, ent_coef), or to
    which it is similar."""
    wanted = name.rpartition(".")[2].lower()
    parts = wanted.split("_")
    shorts = {leaf.rpartition(".")[2]: leaf for leaf in names}

    def short_for(leaf):
        words = leaf.split("_")
        initials = "".join(word[0] for word in words)
        begun = len(words) == len(parts) and all(map(str.startswith, words, parts))
        return len(wanted) > 1 and (begun or initials == wanted)

    inside = [leaf for leaf in names if leaf.startswith(f"{name}.")]
    found = inside or [leaf for leaf in shorts if short_for(leaf)]
    return found or difflib.get_close_matches(wanted, shorts, n=3, cutoff=0.7)


def integer(text):
    """An integer as Python writes it, or one such as 1e5."""
    try:
        return int(text, 0)
    except ValueError:
        value = float(text)
        if not value.is_integer():
            raise
        return int(value)


def _number(text):
    """An integer, if it is one, or a float."""
    try:
        return integer(text)
    except ValueError:
        return float(text)


def _parse(name, text, like):
    """``text`` from a command line as a value of the type of ``like``.

    A tuple is written with commas between its parts: integers, texts if ``like`` has texts, or
    tuples of integers with colons (16:8:4,32:4:2). If ``like`` is None, a text with colons and an
    empty text are tuples too. If ``like`` is None or a float, ``none`` is None, and any other text
    is a number: a float, or for None an integer if it is one. ``text_of`` is the inverse.
    """
    try:
        if isinstance(like, tuple) or (like is None and (":" in text or not text)):
            parts = [part for part in text.split(",") if part]
            if like and isinstance(like[0], str):
                return tuple(parts)
            kind = _tuples(like)
            return tuple(
                tuple(int(each, 0) for each in part.split(":")) if ":" in part else int(part, 0)
                for part in parts
            )
        kind = f"of type {'float' if like is None else type(like).__name__}"
        if like is None or isinstance(like, float):
            if text.lower() == "none":
                return None
            return _number(text) if like is None else float(text)
        if isinstance(like, bool):
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if isinstance(like, int):
            return integer(text)
        return text
    except (KeyError, ValueError, OverflowError):
        raise UsageError(f"{name} must be {kind}, not {text!r}") from None


def _parse_field(name, text, like, path):
    """``_parse`` for the field with a ``path`` as ``leaves`` gives it: one of type ``tuple | None``
    is a tuple, or None for ``none``."""
    owner, field = path[-1]
    if tuple in get_args(next(each.type for each in fields(owner) if each.name == field)):
        return None if text.lower() == "none" else _parse(name, text, like or ())
    return _parse(name, text, like)


def _tuples(like):
    """The rule for texts of a tuple such as ``like``; if this is empty or None, both rules."""
    kinds = {
        int: "integers with commas between them, such as 64,64",
        tuple: "integers with colons and commas between them, such as 16:8:4,32:4:2",
    }
    return kinds[type(like[0])] if like else " or ".join(kinds.values())


def text_of(value):
    """``value`` of a field as ``--set`` takes it."""
    if isinstance(value, tuple):
        return ",".join(":".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def flat(values, prefix=""):
    """``{dotted name: value}`` of nested dicts."""
    found = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def override(config, values, hint="", shown_names=None, other_prefix=""):
    """Returns a copy of ``config`` with fields replaced, all at once, so that rules across fields
    see all new values.

    ``values`` maps a field's name, dotted (``engine.depth``) if several configs have it, to its
    value; a text is read as the type of the value that it replaces, NumPy's numbers are Python's.
    ValueError if a field is
    unknown or its value is wrong. The error's text names the field as ``values`` does; for an
    unknown field it proposes similar ones, or else gives ``hint``. In the text, ``shown_names``
    maps a name of ``values`` to the name that the user wrote, and ``other_prefix`` is the prefix
    that a user writes before fields that ``values`` does not name.
    """
    present = {leaf: (like, path) for leaf, like, path in leaves(config)}
    changes, written = {}, {}
    for name, value in values.items():
        shown = (shown_names or {}).get(name, name)
        leaf = resolve(config, name, hint, shown.removesuffix(name))
        written[leaf] = shown
        text = isinstance(value, str)
        changes[leaf] = _parse_field(shown, value, *present[leaf]) if text else plain(value)

    def rebuild(part, prefix):
        new = {}
        for field in fields(part):
            value, name = getattr(part, field.name), f"{prefix}{field.name}"
            if is_dataclass(value):
                new[field.name] = rebuild(value, f"{name}.")
            elif name in changes:
                new[field.name] = changes[name]
        try:
            return replace(part, **new)
        except ValueError as error:
            field, rule = str(error).partition(" ")[::2]
            if type(error) is not UsageError or prefix + field not in written:
                raise
            for each in fields(part):  # those that the rule names with values, such as lanes (2)
                if prefix + each.name not in written:
                    rule = rule.replace(f" {each.name} (", f" {other_prefix}{each.name} (")
            raise UsageError(f"{written[prefix + field]} {rule}") from error

    return rebuild(config, "")
