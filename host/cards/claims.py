"""Who owns the state that a kernel keeps between launches: one buffer, never two by turns.

A kernel has one tree and one set of parameters. Without claims, a second user would draw from the
first user's data without any error.
"""

import weakref

from hw.errors import Failure, UsageError

__all__ = ["Claim", "Claims"]


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
