"""Errors of the disk that say where they happened."""

from contextlib import contextmanager

__all__ = ["naming"]


@contextmanager
def naming(path):
    """A context manager: an OSError in its block passes on, with ``path`` as its file name if it
    has none. A write to a full disk knows only the number of its file."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
