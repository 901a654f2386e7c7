"""``python -m rlfabric``: the command line."""

from host.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
