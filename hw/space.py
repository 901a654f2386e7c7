"""The search space of a design, and the operation that a search makes fast."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Space"]


@dataclass(frozen=True, kw_only=True)
class Space:
    """The fields of a design's config that a search changes, and the operation that it times.

    operation : str
        The operation that is timed, for messages; ``{batch}`` in it stands for the batch.
    batch : callable
        From a config, the batch of the operation if the user names none.
    fields : callable
        ``{dotted name of a field: values}`` that the search tries, from a config. All other fields
        stay as they are in that config.
    clocks : callable
        From a config and the batch, the clocks of the operation, an int: for the same work with
        every config.
    prepare : callable
        From a config and the batch, ``{dotted name: value}`` that the config needs for this batch,
        for instance the largest batch that the kernel takes.
    shape : callable
        From a config, a value that is equal for configs with the same hardware. The search takes
        the first such config.
    numbers : tuple of str
        Fields that change the results of a kernel, such as the arithmetic. A config is compared
        only with configs that have the same values.
    levels : callable
        From a config, the levels of logic that limit the clock frequency; 0 if all configs have the
        same.
    latency : callable
        From a config, latency that this operation hides but others show, such as a draw from the
        sum tree. A config with a lower latency stays on the front.
    parts : callable
        From a config and the batch, ``{part: clocks}`` with the sum ``clocks``, for tables; empty
        if the operation has no parts.
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
    parts: Callable = lambda config, batch: {}
