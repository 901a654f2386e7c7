"""The kernel that a run needs: generated for a simulated card, or for a bitstream."""

from host.train.families import family_of

__all__ = ["kernel_values", "storage_bytes"]


def kernel_values(config, spec, settings):
    """``{field: value}`` of the kernel's config, for ``host.settings.override``: fields that the
    run decides, and ``settings``, which replace them."""
    return family_of(config).kernel_values(config, spec) | settings


def storage_bytes(config, spec, kernel, board):
    """Bytes that a run stores in its largest buffer, if ``board`` can join banks for this buffer;
    None if it cannot, or if the buffer does not depend on the run. ``kernel``: its config."""
    if not board.joins:
        return None
    return family_of(config).stored_bytes(config, spec, kernel.engine.beat_bytes)
