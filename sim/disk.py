"""Errors of the disk that say where they happened."""

from contextlib import contextmanager

__all__ = ["naming"]


@contextmanager
def naming(path):
    """An OSError of the block that names no file names ``path``: a write that finds the disk full
    knows only its file's number."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
