"""Errors that are meant for users: what they asked cannot be, or the machine could not do it.

The command line shows an error of these classes as a line, and any other as a traceback, for it is
a bug. They stand here because every folder of the project may import ``hw``.
"""

__all__ = ["Failure", "MissingTool", "RlfabricError", "UsageError"]


class RlfabricError(Exception):
    """Every error that rlfabric raises on purpose; its message says what must be otherwise."""


class UsageError(RlfabricError, ValueError):
    """What was asked cannot be: ``"<field> must be <rule>, not <value>"``."""


class Failure(RlfabricError, RuntimeError):
    """What was asked is right, and could not be done: by a tool, a card, or a training."""


class MissingTool(Failure):
    """A program or package that is needed is not found; the message says how to install it."""
