"""The kernel that a run needs: generated for a simulated card, or for a bitstream."""

from host.train.families import family_of

__all__ = ["kernel_values", "storage_bytes"]


def kernel_values(config, spec, settings):
    """``{field: value}`` of the kernel's config, as for ``host.settings.override``: what the run
    decides, and ``settings`` over it."""
    return family_of(config).kernel_values(config, spec) | settings


def storage_bytes(config, spec, kernel, board):
    """Bytes that a run stores in the largest buffer where banks of ``board`` join for them; None
    where they do not, or for no more than the kernel always has. ``kernel``: its config."""
    if not board.joins:
        return None
    return family_of(config).stored_bytes(config, spec, kernel.engine.beat_bytes)
