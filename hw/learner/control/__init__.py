"""The control of the iterations of LEARN and TRAIN, between replay core and learner.

Read ``iteration.py``, the order of steps in an iteration; ``replay_batches.py``, the commands that
it gives the replay core; ``batch_redirect.py``, which keeps a drawn batch on the card and brings
TD errors back to the tree; ``iteration_reader.py`` and ``iteration_writer.py``, which read and
write what belongs to one iteration; ``iteration_report.py``, which makes its report.
"""
