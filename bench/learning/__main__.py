"""``python -m bench.learning [ONLY ...]``."""

from bench.learning.command import main

if __name__ == "__main__":
    main()
