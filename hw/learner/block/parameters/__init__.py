"""The parameters of a layer of blocks: where they lie, how they are updated, loaded and stored.

Read ``walk.py`` (the order of a visit), ``block_memory.py`` and ``moments.py`` (what is visited),
``update.py`` (the optimizers), then ``layer_parameters.py``, which joins these.
"""
