"""The control of the iterations of LEARN and TRAIN, between replay core and learner.

Read ``iteration.py``, the order of steps in an iteration; ``replay_jobs.py``, the jobs that it
gives the replay core; ``td_error_queue.py``, where TD errors wait; ``iteration_reader.py`` and
``iteration_writer.py``, which read and write what belongs to one iteration;
``iteration_report.py``, which makes its report.
"""
