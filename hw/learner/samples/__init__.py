"""A batch on its way into the networks.

Read ``batch_memory.py``, where the drawn experiences are checked and kept, then
``sample_reader.py``, which sends them sample by sample to the first layers and to the loss.
``wrong_words.py`` checks a granule; ``insert_check.py`` checks experiences when they are stored.
"""
