"""The parameters of a layer: where they lie, how they are updated, loaded and stored.

Read ``parameter_memory.py`` (the memories of one PE; ``hw.learner.memory_ports`` is how the chains
reach them), ``parameter_walk.py`` (the order of a visit), ``update_unit.py``, and
``layer_parameters.py``, which joins these. ``parameter_image.py`` is how LOAD and STORE see them,
``image_transfer.py`` moves.
"""
