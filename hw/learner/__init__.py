"""The kernels ``dqn``, ``ddpg`` and ``td3``: replay and gradient steps. Their page is
``docs/learner.md``.

Read ``commands.py`` and ``records.py``, ``contract.py`` (what a learner is to the core around it),
``core.py``, ``config.py`` (layers cut into blocks). Then the folders: ``control`` runs the
iterations, ``samples`` holds a batch, ``network`` wires the layers (``network/trainer.py`` first),
``block`` has the arithmetic of a layer, ``parameters`` has its weights, and ``block/ports.py`` is
between these two. ``play`` collects on the card. ``estimate.py`` counts resources,
``step_clocks.py`` clocks.
"""
