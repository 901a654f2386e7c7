"""Training runs. ``run`` makes kernel and card, ``build`` makes a ``session`` from the ``config``,
and ``loop`` iterates, logs, evaluates and stops. The other modules write a run's files into its
``folder``: ``log``, ``records``, ``rows``, ``scores``, ``summary``."""
