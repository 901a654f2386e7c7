"""The parameters of a layer: where they lie, how they are updated, loaded and stored.

Read ``block_memory.py`` (weights and gradients; ``hw.learner.block.ports`` is how the passes reach
them), ``moments.py``, ``walk.py`` (the order of a visit), ``join.py`` (the part that is visited),
``update.py``, and ``layer_parameters.py``, which wires these. ``parameter_image.py`` is how LOAD
and STORE see them, ``image_transfer.py`` moves.
"""
