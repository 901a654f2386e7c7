"""The kernel that a run needs: generated for a simulated card, or for a bitstream."""

from host.train.families import family_of

__all__ = ["kernel_values", "storage_bytes"]


def kernel_values(config, spec, settings):
    """``{field: value}`` for the config of a run's kernel, as ``host.settings.override`` takes
    them: the fields that the run with ``config`` in an environment with ``spec`` decides, and
    ``settings``, which replace them or add others."""
    return family_of(config).kernel_values(config, spec) | settings


def storage_bytes(config, spec, kernel, board):
    """Bytes that the kernel's largest buffer needs for a run, if ``board``, a Board, can join
    several memory banks for this buffer. None if it cannot, or if the run does not decide the
    buffer's size. ``kernel`` is the config of the run's kernel."""
    if not board.joins:
        return None
    return family_of(config).stored_bytes(config, spec, kernel.engine.beat_bytes)
