"""Errors that are meant for users: a request is not possible, or the machine could not do it.

The command line shows an error of these classes as a line, and any other as a traceback, for it is
a bug. They stand here because every folder of the project may import ``hw``.
"""

__all__ = ["Failure", "MissingTool", "RlfabricError", "UsageError"]


class RlfabricError(Exception):
    """The base of every error that rlfabric raises on purpose; its message says what to change."""


class UsageError(RlfabricError, ValueError):
    """The request is not possible: ``"<field> must be <rule>, not <value>"``."""


class Failure(RlfabricError, RuntimeError):
    """The request is right, but a tool, a card or a training failed."""


class MissingTool(Failure):
    """A program or package that is needed is not found; the message says how to install it."""
