"""The replay manager: priorities in a sum tree, one operation a clock in any mix.

Read ``manager.py`` (the four operations and the pipeline), ``priority_table.py`` (each leaf's
priority, the total), ``draw.py`` (random positions, strata), ``tree_level.py`` (one level, one word
a node), and ``forwarding_memory.py``, which explains why no operation ever waits for another.
"""
