"""Designs, boards, and the kernels that are made of both; ``OwnCard`` is the base of objects that
make their own."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias, TypedDict, TypeVar

from boards import get
from host.cards import Card, Kernel, is_simulated, open_card
from host.kernels import card_banks, configure, find_design, keep, override, read_description
from host.kernels import generate as generated
from host.kernels.exploration_file import exploration
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.estimate import Estimate
from hw.shell.description import KernelDescription
from system.tools import BUILD_DIRECTORY

__all__ = [
    "Candidate",
    "Decision",
    "Explored",
    "OwnCard",
    "Setting",
    "designs",
    "estimate",
    "explore",
    "generate",
    "load_kernel",
]

#: A value of a config's field; lists are sequences, and sequences of them.
Setting: TypeAlias = bool | int | float | str | Sequence[object] | None


class Candidate(TypedDict):
    """A config that a search has tried.

    ``fields``: dotted names and values. ``clocks`` of the operation; ``latency`` and ``levels``:
    further costs, see docs/explorer.md. ``resources``: None is unknown. ``share``: of the resource
    ``limit``, the part of what may be used. ``regions`` that it needs; None: it does not fit.
    """

    fields: dict[str, Setting]
    clocks: int
    latency: int
    levels: int
    resources: dict[str, float | None]
    share: float | None
    limit: str
    regions: Sequence[int] | None


class Decision(TypedDict):
    """Why a config was chosen: its ``cost`` (clocks, levels, share or total) is ``own``, and that
    of the configs that it put aside is one of ``others``."""

    cost: str
    own: float
    others: Sequence[float]


class Explored(TypedDict):
    """What ``explore`` found, as ``explore.json`` has it. ``fields`` were tried, those in ``set``
    were given; ``refused`` counts by reason; ``faster`` does not fit; the rest is said there."""

    version: str
    design: str
    board: str
    batch: int
    rule: str
    operation: str
    regions: Sequence[int]
    limits: dict[str, int | None]
    fields: dict[str, list[Setting]]
    set: dict[str, Setting]
    points: int
    refused: dict[str, int]
    decision: Decision
    choice: Candidate
    fastest: Candidate
    default: Candidate
    faster: Candidate | None
    front: list[Candidate]


def designs() -> dict[str, str]:
    """``{name: title}`` of each design.

    >>> "replay" in rlfabric.designs()
    True
    """
    return {name: each.summary for name, each in DESIGNS.listed().items()}


def estimate(design: str, board: str = "u200", **config: Setting) -> Estimate:
    """Estimates the resources of ``design`` on ``board``, as its family of parts counts them, by
    the design's formulas; None stands for an unknown number.

    ``config``: fields of the design's config that differ from its default on the board. UsageError
    for an unknown design, board or field, or a wrong value; DoesNotFit if the design is too large
    for the board, with what would fit in the message.

    >>> rlfabric.estimate("replay", "u50", capacity=4096).dsp is not None
    True
    """
    found, target = find_design(design), get(board)
    made = found.estimate(configure(found, target, config, library=True))
    counted: Estimate = made.of(target.counted)
    return counted


def explore(
    design: str,
    board: str = "u200",
    *,
    batch: int | None = None,
    regions: str = "all",
    **config: Setting,
) -> Explored:
    """Searches the configs of ``design`` for the best on ``board``, by formulas, and returns an
    ``Explored``: the choice, the front, what was refused. No file is written.

    ``batch``: samples, trajectories or agents of the operation that is made fast; None: that of the
    board's default. ``regions``: "all", or numbers as in "0,2". ``config``: fields that the search
    must not change. UsageError for an unknown field; DoesNotFit if nothing fits.

    >>> found = rlfabric.explore("gae", "u50", **{"gae.depth": 256})
    >>> kernel = rlfabric.load_kernel("gae", "u50", **found["choice"]["fields"])
    >>> kernel.card.close()
    """
    made: Explored = exploration(design, board, batch=batch, regions=regions, values=config)[1]
    return made


def generate(
    design: str,
    board: str = "u200",
    out: str | PathLike[str] = "build",
    *,
    overwrite: bool = False,
    **config: Setting,
) -> Path:
    """Writes Verilog, register map and kernel description to the folder ``out/<board>/<design>``;
    returns it.

    Files of another kernel there are replaced. If the folder has a finished bitstream of another
    kernel, or files that were changed by hand, UsageError; with ``overwrite`` these are moved to a
    folder inside. ``config`` and other errors are those of ``estimate``.

    >>> folder = rlfabric.generate("gae", "u50", "kernels", **{"gae.rows": 4})
    >>> (folder / "gae.v").exists()
    True
    """
    made: Path = generated(design, board, out, overwrite=overwrite, **config)
    return made


def load_kernel(
    design: str, board: str = "u200", *, card: str | Card = "model", **config: Setting
) -> Kernel:
    """Loads the kernel of ``design`` on ``card``, a name as for ``open_card`` or an open Card;
    returns the Kernel.

    For the cards ``model`` and ``sim`` a missing kernel is generated under ``build/kernels``. Other
    cards load the kernel that was built for them before, ``build/<board>/<design>``, and ``config``
    must be that kernel's. Errors are those of ``estimate``; UsageError if the built kernel has
    another config; FileNotFoundError if none was built. If ``card`` is a name, the opened card is
    ``kernel.card``, and the caller closes it.

    >>> kernel = rlfabric.load_kernel("replay", "u50", capacity=1024)
    >>> kernel.description.config["replay"]["capacity"]
    1024
    >>> kernel.card.close()
    """
    name = card if isinstance(card, str) else card.name
    options = {}
    if is_simulated(name):
        place = BUILD_DIRECTORY / "kernels"
        folder, description = keep(design, board, place, verilog=name == "sim", **config)
        path, options = folder / "kernel.json", {"banks": card_banks(description, get(board))}
    else:
        path = BUILD_DIRECTORY / get(board).name / find_design(design).name / "kernel.json"
        description = read_description(path)
        _check(config, description, path)
    if not isinstance(card, str):
        return card.load(path)
    opened = open_card(card, **options)
    try:
        return opened.load(path)
    except BaseException:
        opened.close()
        raise


def _check(config: dict[str, Setting], description: KernelDescription, path: Path) -> None:
    """UsageError unless the built kernel has the values of ``config``; its other fields are as they
    were when it was built."""
    built = find_design(description.name).config_type.from_dict(description.config)
    if override(built, config) != built:
        fields = ", ".join(f"{name}={value!r}" for name, value in config.items())
        raise UsageError(
            f"config must be that of the kernel in {path}, not {fields}: it is set when the kernel "
            "is built"
        )


_Self = TypeVar("_Self", bound="OwnCard")


class OwnCard:
    """A base class of objects that load a kernel, and open a card for it if they are given a card's
    name. Such an object is a context manager, which calls ``close`` at the end. A subclass has this
    class as its first base, before the class whose ``close`` releases the kernel."""

    _card: Card | None = None

    def _kernel(
        self, design: str, board: str, card: str | Card | Kernel, config: dict[str, Setting]
    ) -> Kernel:
        """Returns ``card`` if it is a loaded kernel, else ``design`` loaded on it, with ``config``
        if the kernel is made here. A card that is given by name is opened, and belongs to this
        object."""
        if isinstance(card, Kernel):
            return card
        made = is_simulated(card if isinstance(card, str) else card.name)
        kernel = load_kernel(design, board, card=card, **(config if made else {}))
        if isinstance(card, str):
            self._card = kernel.card
        return kernel

    def close(self) -> None:
        """Releases the kernel, and closes the card if this object opened it. The object must not be
        used afterwards."""
        super().close()  # type: ignore[misc]
        if self._card is not None:
            self._card.close()
            self._card = None

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
