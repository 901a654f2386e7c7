"""Training runs. ``start_run`` makes kernel and card, ``assembly`` makes a ``session`` from the
config, and ``loop`` iterates, logs, evaluates and stops. Each kind of run has its config and its
parts in a file: ``replay_runs``, ``rollout_runs``, ``round_runs``. The other modules write a run's
files into its ``run_folder``: ``run_log``, ``records``, ``progress_rows``, ``scores``, ``summary``.
"""
