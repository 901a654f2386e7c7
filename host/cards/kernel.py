"""A loaded kernel: its buffers, and launches with checked arguments and a bounded wait."""

import operator
import time
import weakref
from typing import TYPE_CHECKING

import numpy as np

from host.cards.buffer import Buffer, OnCard
from host.cards.xrt import ADVICE
from hw.errors import Failure, UsageError
from hw.shell.control_map import STOP
from hw.shell.description import KernelDescription
from hw.shell.program import PAGE_BYTES
from hw.shell.status_block import MAGIC, STATUS

if TYPE_CHECKING:
    from host.cards import Card

__all__ = [
    "CapacityError",
    "CardError",
    "CardTimeout",
    "Claim",
    "Claims",
    "Flight",
    "GivenUp",
    "HashMismatch",
    "Kernel",
]

# Transfers are whole beats of at most this many bytes; buffers end on one.
_BEAT = 64

# ERT_CMD_STATE_ NEW, QUEUED, RUNNING, SUBMITTED, TIMEOUT; pyxrt does not export all of them.
_UNFINISHED = (1, 2, 3, 7, 8)
_COMPLETED, _NORESPONSE = 4, 9


class CardError(Failure):
    """A launch or a card failed."""


class CardTimeout(CardError):
    """A launch did not end, or the card did not answer, in time; the message says what stands
    still."""


class HashMismatch(CardError):
    """The kernel on the card is not the described one: its config hash, which also covers commands,
    layouts and errors, differs from the description's."""


class CapacityError(UsageError):
    """A buffer does not fit its memory bank; the message has the number of bytes that would fit."""


class GivenUp(Failure):
    """A launch was given up before its end."""


class Flight:
    """A context manager around every launch of a kernel. It adds up the time that launches take,
    and lets another thread end a launch.

    Attributes
    ----------
    seconds : float
        Wall time of all launches that have ended, whatever their results.
    """

    def __init__(self, clock=time.perf_counter):
        self.seconds, self._clock, self._aborted = 0.0, clock, False

    def __enter__(self):
        self.check()
        self._began = self._clock()

    def __exit__(self, *_):
        self.seconds += self._clock() - self._began

    def abort(self):
        """Called by another thread: the launch under way raises GivenUp at its next ``check``, and
        every later launch raises GivenUp before it begins."""
        self._aborted = True

    def check(self):
        """Raises GivenUp if ``abort`` was called. Code that waits for a launch must call this now
        and then."""
        if self._aborted:
            raise GivenUp("launch must end by itself, not be given up")


class Kernel(OnCard):
    """A loaded kernel, as ``Card.load`` returns it: makes its buffers and launches it.

    Members
    -------
    card : Card
        The card that loaded it.
    description : hw.shell.description.KernelDescription
        The description of the kernel that was loaded.
    claims : host.cards.kernel.Claims
        The claims to the state that the kernel keeps between launches.
    replaced : bool
        Whether the card has loaded another kernel since, so that this one cannot be launched.
    flight : Flight
        The context manager around every launch.
    """

    _INSTEAD = "be loaded where it is used (Card.load)"

    def __init__(
        self, card: "Card", description: KernelDescription, handle: object, banks: dict[int, object]
    ) -> None:
        self.card, self.description, self.flight = card, description, Flight()
        self._handle, self._banks = handle, banks
        self._run, self._given, self._unended = card.api.run(handle), None, False
        self._buffers = weakref.WeakSet()
        self.claims, self.replaced = Claims(), False
        self._stop = self._stopped = False  # asked for; on the card

    @property
    def twin(self) -> object | None:
        """The kernel's twin (``sim.model.kernels.KernelTwin``), if the card runs it in this process
        and the kernel may be launched; else None. ``host`` does not import it: it takes numba."""
        if self.replaced or self._unended:
            return None
        return getattr(self._handle, "twin", None)  # pyxrt's kernels have none

    def buffer(self, argument: str, size: int) -> Buffer:
        """A new ``Buffer`` of ``size`` bytes in the memory bank of the pointer called ``argument``.
        CapacityError if the bank has not so many bytes left; ValueError for another argument."""
        if self.description.argument(argument).kind != "pointer":
            raise UsageError(f"argument must be a pointer, not {argument!r}")
        if not isinstance(size, int | np.integer) or size < 1:
            raise UsageError(f"size must be a positive integer, not {size!r}")
        group = self._group(argument)
        padded = -(-int(size) // self._unit(argument)) * self._unit(argument)
        try:
            bo = self._allocate(argument, size, padded, group)
        except CapacityError:
            self._release()
            bo = self._allocate(argument, size, padded, group)
        buffer = Buffer(self.card.api, bo, size, padded, group)
        self._buffers.add(buffer)
        return buffer

    def _allocate(self, argument, size, padded, group):
        used = sum(b.pages for b in self._buffers if b.group == group)
        bank = self._banks.get(group & 0xFFFF)  # above: slot and flags, in newer XRT
        if bank and size > bank.get_size_kb() * 1024 - used:
            raise CapacityError(
                f"size must be at most {bank.get_size_kb() * 1024 - used} bytes for {argument} "
                f"(bank {bank.get_tag()} of {bank.get_size_kb()} KB, {used} bytes used), not {size}"
            )
        api = self.card.api
        try:
            return api.bo(self.card.device, padded, api.bo.normal, group)
        except MemoryError as error:  # there is room, but not in one piece
            raise CapacityError(f"{error} ({argument})") from error

    def _release(self):
        """Lets go of the last launch's buffers, which its run holds."""
        self._run, self._given = self.card.api.run(self._handle), None

    def launch(self, *, timeout_s: float = 60.0, **arguments: Buffer | int) -> int | None:
        """Runs the kernel to its end. Returns the clocks that it took, or None if the card's run
        has no such number.

        ``arguments`` are those of the description: a ``Buffer`` for a pointer, an int in 0..2**32-1
        for a scalar. The scalar with a buffer's size may be left out; it is then the buffer's room.
        ValueError for a missing or wrong argument. CardTimeout if the launch has not ended after
        ``timeout_s``; the kernel can then not be launched again. CardError if it failed.
        """
        if self.replaced:
            raise CardError(
                f"kernel {self.description.name} must be the one that its card loaded last, not "
                "one that another replaced: open a card for each"
            )
        if self._unended:
            self.flight.check()
            raise CardError(
                f"kernel {self.description.name} must have ended its last launch, not run on: "
                "load the kernel again, which opens the card anew, or reset it if that hangs too"
            )
        # A run keeps its arguments: only what is not the same object as before is set again.
        given, self._given = self._given, None
        if given is None or arguments.keys() != given.keys():
            self._set(arguments)
        else:
            new = [name for name, value in arguments.items() if value is not given[name]]
            if new:
                self._set(arguments, new)
        self._given = arguments
        with self.flight:
            self._write_stop()
            self._run.start()
            try:
                self._wait(timeout_s)
            except (CardTimeout, GivenUp, KeyboardInterrupt):
                self._unended = True
                self.card.leave(self._run, arguments)
                raise
        return getattr(self._run, "cycles", None)

    def _set(self, arguments, new=None):
        """Gives the run its ``arguments``; only those called ``new`` have changed (None: all)."""
        named = [self.description.argument(name) for name in new or arguments]
        wanted = self.description.arguments
        if new and all(argument.kind == "scalar" for argument in named):  # sizes follow buffers
            wanted = named
        for argument in wanted:
            held = arguments.get(argument.buffer)
            if argument.name in arguments:
                value = arguments[argument.name]
            elif isinstance(held, Buffer):
                value = held.room // argument.unit
            else:
                raise UsageError(f"{argument.name} must be set, not missing")
            self._run.set_arg(argument.id, self._checked(argument, value))

    def stop(self, stopped: bool = True) -> None:
        """Sets or clears the bit STOP of a kernel that plays, which ends a PLAY under way, or the
        next one, before its next vector step. Any thread, and a signal's handler, may call it. A
        card whose registers cannot be written plays to the end of the launch."""
        self._stop = stopped
        if self.twin is not None:
            self.twin.core.stop = stopped

    def _write_stop(self):
        """Brings STOP up to date; between two waits for a launch, so that no access is cut."""
        if self._stop != self._stopped:
            self._stopped = self._stop
            write = getattr(self._handle, "write_register", None)
            if self.twin is None and write is not None:
                write(STOP.offset, int(self._stop))

    def check(self) -> None:
        """Launches an empty program. HashMismatch if the status block has another config hash than
        the description; CardError if it is no status block."""
        arguments = {
            argument.name: self.buffer(argument.name, PAGE_BYTES)
            for argument in self.description.arguments
            if argument.kind == "pointer"
        }
        self.launch(**arguments, command_count=0)
        self._release()
        status = arguments["status"].read(STATUS.dtype, 1)[0]
        if status["magic"] != MAGIC:
            raise CardError(f"status.magic must be {MAGIC:#x}, not {int(status['magic']):#x}")
        expected, found = self.description.config_hash, int(status["config_hash"])
        if found != expected:
            raise HashMismatch(
                f"config_hash must be {expected:#018x} as described, not {found:#018x}: the kernel "
                "was built from another config, or by another version; build and load it again"
            )

    def _unit(self, argument):
        """The unit, in bytes, of a buffer's size and of the address of its end."""
        sizes = (a.unit for a in self.description.arguments if a.buffer == argument)
        return max(_BEAT, *sizes, 1)

    def _group(self, argument):
        return self._handle.group_id(self.description.argument(argument).id)

    def _checked(self, argument, value):
        """``value`` as pyxrt takes it."""
        if argument.kind == "pointer":
            if not isinstance(value, Buffer):
                raise UsageError(f"{argument.name} must be a Buffer, not {value!r}")
            if value.group != self._group(argument.name):
                raise UsageError(
                    f"{argument.name} must be in memory group {self._group(argument.name)}, "
                    f"not {value.group}"
                )
            return value.bo
        try:
            number = operator.index(value)
        except TypeError:
            number = -1
        if not 0 <= number < 2**32:
            raise UsageError(f"{argument.name} must be an integer in 0..{2**32 - 1}, not {value!r}")
        return number - 2**32 if number >= 2**31 else number

    def _wait(self, timeout_s):
        deadline, left = time.monotonic() + timeout_s, timeout_s
        while True:
            self.flight.check()
            self._write_stop()
            # Short waits: pyxrt keeps the interpreter locked, and signals waiting, during each.
            state = self._run.wait(100 if left > 0.1 else max(1, int(1000 * left)))
            if int(state) == _COMPLETED:
                return
            left = deadline - time.monotonic()
            if int(state) not in _UNFINISHED or left <= 0:
                break
        report = self._run.report() if hasattr(self._run, "report") else ADVICE
        if int(state) in (*_UNFINISHED, _NORESPONSE):
            limit = f" within {timeout_s:g} s" if left <= 0 else ""  # it is known to stand still
            raise CardTimeout(f"launch must end{limit}, not stand still: {report}")
        raise CardError(f"launch must complete, not end in state {int(state)}: {report}")


class Claim:
    """The right of an object to a kernel's state; ``name`` is the object's name in errors."""

    def __init__(self, name):
        self.name = name


class Claims:
    """The claims to one kernel's state. At most one claim holds at a time; a claim ends by
    ``release``, by a takeover, or when nobody refers to it any more."""

    def __init__(self):
        self._last = lambda: None

    def make(self, name, *, takeover=False):
        """Returns a new ``Claim`` for the object called ``name``, which holds from now on. If
        another claim holds: ValueError, or with ``takeover`` the other claim ends."""
        holder = self._last()
        if holder is not None and not takeover:
            raise UsageError(
                f"kernel must be free for {name}, not hold the state of {holder.name}: one kernel, "
                "one buffer. close() that one, or open another card and load the kernel there, or "
                "pass takeover=True, after which that one can no longer be used"
            )
        claim = Claim(name)
        self._last = weakref.ref(claim)
        return claim

    def confirm(self, claim):
        """RuntimeError unless ``claim`` still holds."""
        holder = self._last()
        if holder is not claim:
            now = f"is that of {holder.name} by now" if holder else "was given up by close()"
            raise Failure(
                f"{claim.name} must have the kernel's state, which {now}: one kernel, one buffer; "
                "open another card and load the kernel there"
            )

    def release(self, claim):
        """Ends ``claim``, so that another one may be made. Does nothing if ``claim`` no longer
        holds."""
        if self._last() is claim:
            self._last = lambda: None
