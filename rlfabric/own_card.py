"""What stands on a kernel of its own, and closes the card that was opened for it."""

from typing import TypeVar

from host.card import Card, Kernel, is_simulated
from rlfabric.kernels import Setting, load_kernel

__all__ = ["OwnCard"]

_Self = TypeVar("_Self", bound="OwnCard")


class OwnCard:
    """A context manager; it comes before the class whose ``close`` gives up the kernel."""

    _card: Card | None = None

    def _kernel(
        self, design: str, board: str, card: str | Card | Kernel, config: dict[str, Setting]
    ) -> Kernel:
        """``card``, if it is a loaded kernel; or ``design`` loaded on it, with ``config`` where the
        kernel is made for it. A card that is a name is opened, and is this object's own."""
        if isinstance(card, Kernel):
            return card
        made = is_simulated(card if isinstance(card, str) else card.name)
        kernel = load_kernel(design, board, card=card, **(config if made else {}))
        if isinstance(card, str):
            self._card = kernel.card
        return kernel

    def close(self) -> None:
        """Let go of the kernel, and close the card that was opened for it; not to be used after."""
        super().close()  # type: ignore[misc]
        if self._card is not None:
            self._card.close()
            self._card = None

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
