"""What learning algorithms are made of, and those that need no folder of their own. Read ``dqn``
first: it has config, policy, updater and descriptor of one algorithm. Their base classes are in
``config``, ``policy``, ``network`` and ``autodiff``; ``algorithm`` explains the descriptor, and
``learner`` is the base class for gradient steps in a run. ``host.agents.registry`` lists all
algorithms. ``docs/adding_an_algorithm.md`` adds one step by step.
"""
