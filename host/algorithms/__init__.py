"""Learning algorithms. Read ``dqn`` first: config, policy, updater and descriptor of one. What they
are made of: ``config``, ``policy``, ``network``, ``autodiff``; what a descriptor says:
``algorithm``; where all are listed: ``registry``. ``docs/adding_an_algorithm.md`` is the walk."""
