"""What a design leaves under ``build/<board>/<design>/``: equal inputs, equal bytes, no paths."""

import hashlib
import json
from dataclasses import fields, is_dataclass, replace
from importlib.metadata import version
from pathlib import Path

import boards
from boards import bitstream
from boards.memory import bank_of_largest
from boards.report import mapped_before
from host.lint import waiver_file
from host.registers import document
from hw.designs import DESIGNS
from hw.verilog import to_verilog

__all__ = ["Unwritable", "configure", "describe", "find_design", "generate", "override", "package"]


class Unwritable(OSError):
    """A generated file cannot be written."""


def _leaves(config, prefix=""):
    """``(dotted name, value)`` of every field that is not itself a config."""
    for field in fields(config):
        value = getattr(config, field.name)
        if is_dataclass(value):
            yield from _leaves(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", value


def _resolve(config, name):
    """The one dotted name that ``name`` means: itself, or the only one that ends in it."""
    names = [leaf for leaf, _ in _leaves(config)]
    found = [leaf for leaf in names if leaf == name or leaf.endswith(f".{name}")]
    if name in found or len(found) == 1:
        return name if name in found else found[0]
    if found:
        raise ValueError(f"{name} must be one of {', '.join(found)}, not several")
    known = ", ".join(names)
    raise ValueError(f"{name} must be a field of {type(config).__name__} ({known}), not unknown")


def _parse(name, text, like):
    """``text`` from a command line as a value of the type of ``like``.

    Integers with commas between them are a tuple; ``none`` is None where ``like`` is None or a
    float, and what is not is then a float.
    """
    try:
        if isinstance(like, tuple):
            return tuple(int(part, 0) for part in text.split(",") if part)
        if like is None or isinstance(like, float):
            return None if text.lower() == "none" else float(text)
        if isinstance(like, bool):
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if isinstance(like, int):
            return int(text, 0)
        return text
    except (KeyError, ValueError):
        kind = "float" if like is None else type(like).__name__
        raise ValueError(f"{name} must be of type {kind}, not {text!r}") from None


def override(config, values):
    """``config`` with fields replaced, all at once, so that rules across fields see the whole.

    ``values`` maps a field's name, dotted (``engine.depth``) where several configs have it, to its
    value; a text is read as the type of the value that it replaces. ValueError names the field.
    """
    present = dict(_leaves(config))
    changes = {}
    for name, value in values.items():
        leaf = _resolve(config, name)
        like = present[leaf]
        changes[leaf] = _parse(leaf, value, like) if isinstance(value, str) else value

    def rebuild(part, prefix):
        new = {}
        for field in fields(part):
            value, name = getattr(part, field.name), f"{prefix}{field.name}"
            if is_dataclass(value):
                new[field.name] = rebuild(value, f"{name}.")
            elif name in changes:
                new[field.name] = changes[name]
        return replace(part, **new)

    return rebuild(config, "")


def _check(design, board, config):
    """Raise ``boards.DoesNotFit`` where the board lacks memory or, if known, resources."""
    boards.fits(board, *design.storage(config), bank=bank_of_largest(design, config, board))
    boards.fits_resources(board, design.estimate(config))


def _fits(design, board, config):
    try:
        _check(design, board, config)
    except boards.DoesNotFit:
        return False
    return True


def _largest_capacity(design, board, config):
    """The largest ``capacity`` below the config's with which it fits; None if there is none."""
    low, high = 0, design.storage(config)[0]
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _check(design, board, override(config, {"capacity": middle}))
            low = middle
        except ValueError:  # too large for the board, or too small for the design
            high = middle
    return low or None


def configure(design, board, values):
    """The config of ``design`` for ``board``: the design's default there, with ``values`` replaced.

    Raises ``boards.DoesNotFit``, with what would fit, where the board lacks the memory or, as far
    as the design can estimate it, the resources.
    """
    config = override(design.default(board.numbers), values)
    try:
        _check(design, board, config)
    except boards.DoesNotFit as error:
        largest = _largest_capacity(design, board, config)
        hints = [f"capacity {largest}"] if largest else []
        hints += design.suggest(config, lambda other: _fits(design, board, other))
        raise boards.DoesNotFit("; ".join([str(error), *(f"{h} fits" for h in hints)])) from None
    return config


def generate(name, board, out, **values):
    """Write the files of design ``name`` for ``board`` and return their directory.

    ``<kernel>.v``; ``kernel.json``, the kernel description that a card loads; ``config.json``;
    ``registers.md``; ``lint.vlt``; ``manifest.json`` with version, config hash and a digest a file.

    Parameters
    ----------
    name : str
        A key of ``hw.designs.DESIGNS``; ValueError names the known ones.
    board : str
        ``boards.DoesNotFit`` if the design exceeds it.
    out : path
        The directory is ``out/<board>/<name>``.
    **values
        Config fields, as for ``override``.
    """
    directory, files = _generated(name, board, out, values)
    return _write(directory, files)


def package(name, board, out, *, storage_bytes=None, **values):
    """As ``generate``, with what the board's tools make a bitstream from.

    ``storage_bytes`` : as for ``boards.memory.banks``. An area that ``host.report`` found before in
    the same directory, for the same config, is what the kernel's place is chosen by.
    """
    directory, files = _generated(
        name, board, out, values, package=dict(storage_bytes=storage_bytes)
    )
    return _write(directory, files)


def _generated(name, board, out, values, package=None):
    """The directory, and ``{file: text}`` of all that goes there; ``package``: options of it."""
    design, board = find_design(name), boards.get(board)
    config = configure(design, board, values)
    description = design.describe(config)
    verilog = to_verilog(design.kernel(config), name=description.name)
    release = version("rlfabric")
    heading = f"{name} on {board.title}, rlfabric {release}"
    identity = {
        "version": release,
        "design": name,
        "board": board.name,
        "kernel": description.name,
        "config_hash": f"{description.config_hash:#018x}",
    }
    files = {
        description.verilog: f"// {heading}, config hash {identity['config_hash']}\n{verilog}",
        "kernel.json": description.to_json(),
        "config.json": _json({**identity, "config": config.to_dict()}),
        "registers.md": document(
            description, design.documents(config), design.errors, heading=heading, config=config
        ),
        "lint.vlt": waiver_file(),
    }
    directory = Path(out) / board.name / name
    if package is not None:
        mapped = mapped_before(directory, description)
        files |= bitstream.files(description, board, mapped=mapped, **package)
    digests = {file: hashlib.sha256(text.encode()).hexdigest() for file, text in files.items()}
    files["manifest.json"] = _json({**identity, "sha256": digests})
    return directory, files


def describe(name, board, out, **values):
    """As ``generate``, but write ``kernel.json`` alone, which is all that card ``model`` loads."""
    design, board = find_design(name), boards.get(board)
    description = design.describe(configure(design, board, values))
    return _write(Path(out) / board.name / name, {"kernel.json": description.to_json()})


def find_design(name):
    if name not in DESIGNS:
        raise ValueError(f"design must be one of {', '.join(DESIGNS)}, not {name!r}")
    return DESIGNS[name]


def _write(directory, files):
    """Write what has changed: a tool that goes by dates does not make again what it has."""
    try:
        for file, text in files.items():
            path = directory / file
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != text.encode():
                path.write_text(text)
    except OSError as error:
        raise Unwritable(f"{directory} must be writable, not refused: {error.strerror}") from error
    return directory


def _json(values):
    return json.dumps(values, indent=2, sort_keys=True) + "\n"
