"""A run. ``run`` makes kernel and card, ``build`` puts a ``session`` together from its ``config``,
and ``loop`` iterates, logs, evaluates and stops well. The others are what a run leaves: ``log``,
``records``, ``rows``, ``scores``, ``summary``, in a ``folder``."""
