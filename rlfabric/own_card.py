"""The base of objects that make their own kernel, and close the card that they have opened."""

from typing import TypeVar

from host.cards import Card, Kernel, is_simulated
from rlfabric.kernels import Setting, load_kernel

__all__ = ["OwnCard"]

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
