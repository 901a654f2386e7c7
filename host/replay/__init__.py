"""Replay memories on a card (kernel ``replay``) and on the CPU. Read ``experience`` and
``replay_memory``, then ``prioritized_buffer`` (on the card) or ``row_memory`` (on the CPU; card
``model`` has the same ring).
``nstep`` makes the experiences, ``replay_learner`` learns from them.
"""
