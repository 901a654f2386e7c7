"""``python -m rlfabric``: the command line.

Python puts the current folder first on the path, so that a file there called ``sim.py``,
``torch.py`` or ``pyxrt.py`` would be imported in place of a package. It is taken off before
anything is imported, as it is for the script ``rlfabric``; modules that the user names are still
found there (``host.modules``).
"""

import os
import sys

__all__ = ["main"]


def _off_the_path(path: list[str]) -> None:
    """Takes the current folder from the beginning of ``path``, unless it has rlfabric itself."""
    here = os.path.realpath(os.getcwd())
    own = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    if path and os.path.realpath(path[0] or here) == here != own:
        del path[0]


if __name__ == "__main__":
    _off_the_path(sys.path)

from host.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
