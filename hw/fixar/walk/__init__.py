"""One walk for all cores: what each pass fetches, which tiles it holds, what enters the arrays.

Read ``pass_table.py`` (a pass by its number), ``reader.py`` (the words of its stream), ``tiles.py``
(its tiles, of weights or of errors), ``streamer.py`` (the words that enter, when word and tile are
there), ``walk.py``, which joins these three, and ``bias_queue.py`` (biases, with which sums start).
``sequencer.py`` gives the order of passes.
"""
