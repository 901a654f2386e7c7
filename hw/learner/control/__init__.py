"""What runs the iterations of LEARN around replay core and learner.

Read ``iteration.py``, the order of steps in an iteration; ``batch_redirect.py``, which keeps a
drawn batch on the card and brings TD errors back to the tree; ``hyperparameter_reader.py`` and
``report_writer.py``, which read and write one record an iteration.
"""
