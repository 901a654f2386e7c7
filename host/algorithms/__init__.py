"""Learning algorithms. Read ``dqn`` first: it has config, policy, updater and descriptor of one
algorithm. Their base classes are in ``config``, ``policy``, ``network`` and ``autodiff``;
``algorithm`` explains the descriptor, and ``registry`` lists all algorithms.
``docs/adding_an_algorithm.md`` adds one step by step."""
