"""``python -m bench NAME``: errors and exit codes are those of ``rlfabric``."""

from host.cli.main import main

if __name__ == "__main__":
    main("bench.command")
