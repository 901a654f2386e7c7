"""The configs of a design among which a search chooses, and the operation that it makes fast."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Space"]


@dataclass(frozen=True, kw_only=True)
class Space:
    """What a search changes in a design's config, and what it makes faster by that.

    operation : str
        The operation that is timed, for messages; ``{batch}`` in it stands for the batch.
    batch : callable
        From a config, the batch of the operation if the user names none.
    fields : callable
        ``{dotted name of a field: values}`` that the search tries, from a config. All other fields
        stay as they are in that config.
    clocks : callable
        From a config and the batch, the clocks of the operation, an int. The clocks of two configs
        must be those of the same work.
    prepare : callable
        From a config and the batch, ``{dotted name: value}`` that the config needs for this batch,
        for instance the largest batch that the kernel takes.
    shape : callable
        From a config, a value that is equal for two configs if they are the same hardware. Of such
        configs the search takes the first.
    numbers : tuple of str
        Fields that change the results of a kernel, as an arithmetic does. A config is never put
        aside for another one in which such a field is different.
    levels : callable
        From a config, the levels of logic that limit the clock frequency, as far as two configs
        differ in them; 0 if they do not.
    latency : callable
        From a config, clocks that this operation hides but another one shows, as those of a draw
        from the sum tree. A config with fewer of them stays on the front.
    axis, curve : str
        The fields that a picture has along its axis and as curves.
    """

    operation: str
    batch: Callable
    fields: Callable
    clocks: Callable
    axis: str
    curve: str | None = None
    prepare: Callable = lambda config, batch: {}
    shape: Callable = lambda config: config
    numbers: tuple = ()
    levels: Callable = lambda config: 0
    latency: Callable = lambda config: 0
