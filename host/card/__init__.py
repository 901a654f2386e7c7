"""Cards by name, and a wrapper that refuses wrong calls which pyxrt would accept in silence.

``model`` runs a kernel's twin, ``sim`` its Verilog, and the others are real cards, with the same
calls and the same bytes. Every launch has all arguments set, in range and in the right bank, and a
bounded wait.
"""

import importlib
import re
import weakref
from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from types import ModuleType

from host.card.buffer import Buffer
from host.card.kernel import CapacityError, CardError, CardTimeout, HashMismatch, Kernel
from host.card.xrt import pyxrt
from hw.errors import UsageError
from hw.shell.description import KernelDescription
from sim.card import xrt as simulated

__all__ = [
    "Buffer",
    "CapacityError",
    "Card",
    "CardError",
    "CardTimeout",
    "HashMismatch",
    "Kernel",
    "is_simulated",
    "open_card",
]

# Of launches that did not end: run and device, whose release would take the command from under the
# card, and the arguments, which it may still write.
_KEPT = []


#: Cards whose kernel a twin or the Verilog is, generated when it is wanted.
_SIMULATED = ("model", "sim")
_REAL = re.compile(r"xrt(?::(\d+))?|(pynq|uart):(.+)")


def is_simulated(name: str) -> bool:
    """Whether the card called ``name`` is simulated; UsageError if there is no such card."""
    if name in _SIMULATED:
        return True
    if not _REAL.fullmatch(name):
        raise UsageError(
            f"card must be model, sim, xrt[:N], pynq:BITFILE or uart:PORT, not {name!r}"
        )
    return False


def open_card(name: str, **options: object) -> "Card":
    """The ``Card`` called ``name``: "model", "sim", "xrt[:N]", "pynq:BITFILE" or "uart:PORT".

    ``options`` are the keywords of ``sim.card.xrt.device`` for simulated cards: memory, banks,
    connectivity, trace, trace_launches. Raises ValueError for another name, MissingTool without
    pyxrt or pynq.
    """
    if is_simulated(name):
        return Card(name, simulated, partial(simulated.device, backend=name, **options))
    if options:
        raise UsageError(f"options must be none for card {name}, not {', '.join(options)}")
    index, kind, place = _REAL.fullmatch(name).groups()
    if kind:
        api = importlib.import_module(f"{__name__}.{kind}")
        return Card(name, api, partial(api.device, place))
    api = pyxrt()
    return Card(name, api, partial(api.device, int(index or 0)), built=True)


class Card:
    """A card; a context manager. ``api`` is the module pyxrt, or a module with the same names.

    ``open_device()`` opens it. ``built``: the card loads ``<kernel>.xclbin``; other cards load the
    description.
    """

    def __init__(
        self,
        name: str,
        api: ModuleType,
        open_device: Callable[[], object],
        *,
        built: bool = False,
    ) -> None:
        self.name, self.api, self._open, self._built = name, api, open_device, built
        self.device, self._stuck, self._loaded = open_device(), False, lambda: None

    def __enter__(self) -> "Card":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the card, and complete its trace."""
        if hasattr(self.device, "close"):
            self.device.close()
        self.device = None

    def load(self, path: str | PathLike[str]) -> Kernel:
        """Loads the kernel whose description is at ``path``, and returns the ``Kernel``. It
        replaces the kernel that was loaded before.

        If a launch did not end, the card is opened anew first. This resets or reloads a board; a
        card in a slot gets a second context beside the one that the launch holds.
        """
        path = Path(path)
        description = KernelDescription.from_json(path.read_text())
        if self._built:
            path = path.with_name(f"{description.name}.xclbin")
            if not path.exists():
                raise FileNotFoundError(f"{path} must be built first (make bitstream), not missing")
        binary = self.api.xclbin(str(path))
        if self._stuck:
            self.close()
            self.device, self._stuck = self._open(), False
        try:
            # XRT 2026.1 and later; from 2023.2 on this class exists, but takes only a uuid.
            owner, mode = (self.api.hw_context(self.device, binary),), ()
        except (AttributeError, TypeError):
            owner = (self.device, self.device.load_xclbin(binary))
            mode = (self.api.kernel.shared,)  # the default from 2022.1 on, before that mandatory
        handle = self.api.kernel(*owner, description.name, *mode)
        banks = {m.get_index(): m for m in binary.get_mems()}
        before, kernel = self._loaded(), Kernel(self, description, handle, banks)
        if before is not None:  # a card has one at a time
            before.replaced = True
        self._loaded = weakref.ref(kernel)
        return kernel

    def leave(self, run: object, arguments: dict[str, object]) -> None:
        """Keep ``run``, which did not end, and its ``arguments``; ``load`` opens the card anew."""
        _KEPT.append((run, self.device, arguments))
        self._stuck = True
