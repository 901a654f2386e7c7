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
from types import ModuleType

from host.cards.buffer import Buffer, OnCard
from host.cards.kernel import CapacityError, CardError, CardTimeout, HashMismatch, Kernel
from host.cards.xrt import pyxrt
from hw.errors import UsageError
from hw.shell.description import KernelDescription
from sim.card import xrt as simulated
from system.disk import user_path

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
    """Whether ``name`` is "model" or "sim", the cards that are simulated. UsageError if it is not
    the name of any card."""
    if name in _SIMULATED:
        return True
    if not _REAL.fullmatch(name):
        raise UsageError(
            f"card must be model, sim, xrt[:N], pynq:BITFILE or uart:PORT, not {name!r}"
        )
    return False


def open_card(name: str, **options: object) -> "Card":
    """Opens the ``Card`` called ``name``: "model", "sim", "xrt[:N]", "pynq:BITFILE" or "uart:PORT".

    ``options`` are for simulated cards alone, the keywords of ``sim.card.xrt.device``: memory,
    banks, connectivity, trace, trace_launches. ValueError for another name, and for options of a
    real card; MissingTool if pyxrt or pynq is needed and not installed.
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


class Card(OnCard):
    """A card, on which one kernel at a time is loaded; a context manager, which closes the card.

    name : str, as ``open_card`` takes it
    api : the module pyxrt, or a module with the same names
    open_device : callable without arguments, which opens the card and returns the api's device
    built : True if the card loads ``<kernel>.xclbin`` beside the kernel description; False if it
        loads the description itself
    """

    _INSTEAD = "be opened where it is used (open_card)"

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
        """Closes the card, and completes the trace of a simulated one."""
        if hasattr(self.device, "close"):
            self.device.close()
        self.device = None

    def load(self, path: str | PathLike[str]) -> Kernel:
        """Loads the kernel whose description is at ``path``, and returns the ``Kernel``. The kernel
        that was loaded before can no longer be launched.

        If a launch of the kernel before did not end, the card is first opened anew. This resets or
        reloads a board; a card of XRT gets a second context beside the one that the launch holds.
        FileNotFoundError if the card needs an .xclbin that is not there.
        """
        path = user_path(path)
        description = KernelDescription.from_json(path.read_text(encoding="utf-8"))
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
        """Notes that ``run`` did not end: it and its ``arguments`` are kept in memory for ever, as
        the card may still use them, and the next ``load`` opens the card anew."""
        _KEPT.append((run, self.device, arguments))
        self._stuck = True
