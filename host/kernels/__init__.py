"""Writes a design's files to ``build/<board>/<design>/``. Equal inputs give equal bytes, and the
files have no paths in them."""

import hashlib
import json
from importlib.metadata import version

import boards
from boards import bitstream
from boards.memory import bank_of_largest, banks
from boards.report import mapped_before
from host.kernels.kernel_folder import MANIFEST, manifest, take, write
from host.kernels.lint import waiver_file
from host.kernels.made_of import MadeOf
from host.kernels.register_map import document
from host.settings import override
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.shell.description import KernelDescription
from hw.verilog import to_verilog
from sim.card.memory import Bank
from system.cache import Unwritable, is_whole, kept, say, seal
from system.disk import user_path

__all__ = [
    "Unwritable",
    "card_banks",
    "config_with_estimate",
    "configure",
    "describe",
    "find_design",
    "generate",
    "keep",
    "override",
    "package",
    "read_description",
]


def _check(design, board, config):
    """Raises ``boards.DoesNotFit`` if the board lacks memory or, as far as known, resources; else
    returns the Estimate of ``config``."""
    bank = bank_of_largest(design, config, board)
    boards.fits(
        board, *design.storage(config), buffer=design.largest, bank=bank, field=design.items
    )
    estimate = design.estimate(config)
    boards.fits_resources(board, estimate)
    return estimate


def _fits(design, board, config):
    try:
        estimate = _check(design, board, config)
    except boards.DoesNotFit:
        return False
    return not boards.unknown(board, estimate)


def _largest_capacity(design, board, config):
    """The largest ``capacity`` below the config's with which it fits; None if there is none."""
    low, high = 0, design.storage(config)[0]
    while high - low > 1:
        middle = (low + high) // 2
        try:
            fits = _fits(design, board, override(config, {"capacity": middle}))
        except ValueError:  # too small for the design
            fits = False
        low, high = (middle, high) if fits else (low, middle)
    return low or None


def configure(design, board, values, *, library=False, **names):
    """The config of ``design`` for ``board``, a Design and a Board: the design's default for the
    board, with the fields in ``values`` replaced. With ``library`` the default is the design's
    default for Python programs, if it has one. ``names`` are ``shown_names`` and
    ``other_prefix`` of ``override``.

    Raises ``boards.DoesNotFit``, with changes that would fit, if the board lacks the memory or, as
    far as the design can estimate them, the resources. ValueError as in ``override``.
    """
    return config_with_estimate(design, board, values, library=library, **names)[0]


def config_with_estimate(design, board, values, *, library=False, **names):
    """``(config, estimate)``: as ``configure``, with the config's Estimate."""
    default = library and design.library or design.default
    config = override(default(board.numbers), values, **names)
    try:
        return config, _check(design, board, config)
    except boards.DoesNotFit as error:
        hints = _hints(design, board, config, default(board.numbers))
        raise boards.DoesNotFit("; ".join([str(error), *hints])) from None


def _hints(design, board, config, default):
    """Changes of ``config`` that fit, each by itself, or the board's default."""
    largest = _largest_capacity(design, board, config)
    found = [f"capacity {largest}"] if largest else []
    found += design.suggest(config, lambda other: _fits(design, board, other))
    if not found and _fits(design, board, default):
        found = [f"the default of {design.name} on {board.title}"]
    if not found:
        return [f"nothing smaller of {design.name} is known that fits {board.title}"]
    return [f"{change} fits" for change in found]


def generate(name, board, out, *, overwrite=False, library=True, **values):
    """Writes the files of design ``name`` for ``board`` and returns their directory.

    The files are ``<kernel>.v``; ``kernel.json``, the kernel description that a card loads;
    ``config.json``; ``registers.md``; ``lint.vlt``, for Verilator; ``manifest.json`` with version,
    config hash and a digest for each file. Files of another kernel are removed: see
    ``host.kernels.kernel_folder``.

    Parameters
    ----------
    name : str
        A key of ``hw.designs.DESIGNS``; ValueError names the known ones.
    board : str
        Name of a board; ``boards.DoesNotFit`` if the design is too large for it.
    out : path
        The directory is ``out/<board>/<name>``.
    overwrite : bool
        Whether a finished bitstream of another kernel, and files that were changed by hand, are
        moved to a folder inside the directory; if not, they raise ValueError.
    library : bool
        Whether other fields have the design's default for Python programs, if it has one: ``gae``
        has results of 32 bits then, since a host needs precise advantages, not a small memory. If
        not, they have the design's own default on the board.
    **values
        Config fields, as for ``override``.
    """
    return _made(name, boards.get(board, name), out, values, overwrite, library)


def package(
    name, board, out, *, storage_bytes=None, mhz=None, overwrite=False, library=False, **values
):
    """As ``generate``, but also writes all inputs that the board's tools need for a bitstream.

    ``storage_bytes`` : as for ``boards.memory.banks``. If ``host.explore.resource_report`` has
    written the area before, in the same directory and for the same config, the area decides where
    the kernel is placed.

    ``mhz`` : the clock to ask for, instead of the board's, an integer from 1 to 1000.
    """
    options, found = dict(storage_bytes=storage_bytes), boards.get(board, name).at(mhz)
    return _made(name, found, out, values, overwrite, library, options)


def identity(design, board, description):
    """The identity of a kernel, with which its manifest begins: a dict of texts, version, design
    (the name that is given), board, kernel and config_hash."""
    return {
        "version": version("rlfabric"),
        "design": design,
        "board": board.name,
        "kernel": description.name,
        "config_hash": f"{description.config_hash:#018x}",
    }


def _made(name, board, out, values, overwrite, library, package=None):
    """Writes all files and returns their directory; ``package``: options of the inputs of the
    board's tools, None without these."""
    design = find_design(name)
    config, estimate = config_with_estimate(design, board, values, library=library)
    description = design.describe(config)
    directory, whose = _place(out, board, name), identity(name, board, description)
    if package is not None:
        banks(description, board, **package)  # without such memory it raises, nothing is touched
    take(directory, whose, overwrite=overwrite)  # it refuses before the Verilog is made
    if unknown := boards.unknown(board, estimate):
        say(f"{', '.join(unknown)} of {name} on {board.title} unknown: it may not fit")
    say(f"writing Verilog of {name} for {board.title}")
    files = _files(design, board, config, whose)
    if package is not None:
        mapped = mapped_before(directory, description)
        files |= bitstream.files(description, board, mapped=mapped, **package)
    return _write(directory, whose, files, overwrite)


def _files(design, board, config, whose):
    """``{file: text}`` of a kernel, without its manifest and the inputs of a board's tools."""
    description = design.describe(config)
    verilog = to_verilog(design.kernel(config), name=description.name)
    heading = f"{whose['design']} on {board.title}, rlfabric {whose['version']}"
    return {
        description.verilog: f"// {heading}, config hash {whose['config_hash']}\n{verilog}",
        "kernel.json": description.to_json(),
        "config.json": _json({**whose, "config": config.to_dict()}),
        "registers.md": document(
            description,
            design.documents(config),
            design.of(config).errors,
            heading=heading,
            schedule=design.schedule(config),
            config=config,
        ),
        "lint.vlt": waiver_file(),
    }


def describe(name, board, out, **values):
    """As ``generate``, but writes only ``kernel.json`` and the manifest. The card ``model`` needs
    no other file. Files of another kernel that must not be lost raise ValueError."""
    design, board = find_design(name), boards.get(board, name)
    description = design.describe(configure(design, board, values, library=True))
    whose, files = identity(name, board, description), {"kernel.json": description.to_json()}
    return _write(_place(out, board, name), whose, files, False)


def _place(out, board, name):
    """The folder of a kernel; UsageError if a link leads it out of ``out``."""
    out = user_path(out)
    directory = out / board.name / name
    if not directory.resolve().is_relative_to(out.resolve()):
        raise UsageError(f"out must be a folder without links, not {out}: {directory.name}")
    return directory


def keep(name, board, out, *, verilog, shown_names=None, other_prefix="", **values):
    """Makes a kernel for a run: as ``generate``, but in a folder that no other kernel uses.

    The folder is ``out/<board>/<name>/`` and a name made of the user, the config's hash, and
    everything that the files depend on (``host.kernels.made_of``), or else their contents. It is
    written once, as a whole; if it exists already, nothing is made. If ``verilog`` is False, it has
    ``kernel.json`` alone, which is all that card ``model`` loads. ``shown_names``
    and ``other_prefix`` are as in ``override``.

    Returns
    -------
    folder : Path
        The kernel's folder.
    description : KernelDescription
        The description of this config; the one that is loaded from the folder must equal it.
    """
    design, found = find_design(name), boards.get(board, name)
    config = configure(
        design, found, values, library=True, shown_names=shown_names, other_prefix=other_prefix
    )
    description = design.describe(config)
    place = user_path(out) / found.name / name
    if not verilog:
        return _kept(place, description, {"kernel.json": description.to_json()}), description
    whose, made_of = identity(name, found, description), MadeOf(design, found)
    key = made_of.key(whose)
    keyed = key and place / f"{description.config_hash:016x}-{key}"
    if keyed and is_whole(keyed):
        return keyed, description
    files = _files(design, found, config, whose)
    files[MANIFEST] = manifest(whose, _encoded(files)).decode()
    if keyed and made_of.is_all():
        return _filled(keyed, files), description
    return _kept(place, description, files), description


def _kept(place, description, files):
    """A folder in ``place`` whose name is made of the contents of its ``files``."""
    digest = seal(place.name, json.dumps(files, sort_keys=True).encode()).hex()[:8]
    return _filled(place / f"{description.config_hash:016x}-{digest}", files)


def _filled(folder, files):
    def make(work):
        for file, text in files.items():
            (work / "out" / file).write_text(text, encoding="utf-8")

    return kept(folder, make)


def card_banks(description, board, *, storage_bytes=None):
    """The memory of a simulated card for the described kernel, as ``host.cards.open_card`` takes
    it: a tuple with the bank of each of the kernel's masters, as large as on ``board``.
    ``storage_bytes`` is as for ``boards.memory.banks``."""
    own = banks(description, board, storage_bytes=storage_bytes)
    return tuple(Bank(bank.name, bank.size) for bank in own)


def read_description(path):
    """The KernelDescription in ``path``, a ``kernel.json`` that ``generate`` wrote.
    FileNotFoundError if there is none. ValueError if the file is damaged, or differs from the one
    whose digest is in the manifest beside it."""
    path = user_path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} must be built first (rlfabric bitstream), not missing")
    text, manifest = path.read_bytes(), path.with_name(MANIFEST)
    try:
        description = KernelDescription.from_json(text)
        wanted = hashlib.sha256(text).hexdigest()
        if manifest.exists():
            wanted = json.loads(manifest.read_bytes())["sha256"][path.name]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path} must be a whole file that rlfabric wrote, not damaged: generate it again "
            f"({type(error).__name__}: {error})"
        ) from error
    if hashlib.sha256(text).hexdigest() != wanted:
        raise UsageError(f"{path} must be as in {manifest}, not another: generate it again")
    return description


def find_design(name):
    if name not in DESIGNS:
        raise UsageError(f"design must be one of {', '.join(DESIGNS)}, not {name!r}")
    return DESIGNS[name]


def _write(directory, whose, files, overwrite):
    return write(directory, whose, _encoded(files), overwrite=overwrite)


def _encoded(files):
    return {file: text.encode() for file, text in files.items()}


def _json(values):
    return json.dumps(values, indent=2, sort_keys=True) + "\n"
