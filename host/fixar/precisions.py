"""Names of the precisions that an agent can have, which are also DDPG's presets (FIXAR); a list of
them needs no more than this."""

__all__ = ["CAPTURED", "PRECISIONS", "STATIC"]

#: Precisions that switch: after a delay, or (fixed16_captured) after the first gradient step.
CAPTURED = ("qat", "qat_errors_full", "fixed16_captured")
#: Precisions of 16 bits, with one format for all layers from the first gradient step on.
STATIC = ("fixed16_static", "fixed16_all")
PRECISIONS = ("float32", "fixed32", *CAPTURED, *STATIC)
