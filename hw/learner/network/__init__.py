"""The networks of an agent: layers end to end, with the loss behind them.

Read ``trainer.py``, which wires all of it and is the learner that the core sees; ``layer.py``, one
layer; ``activation_buffer.py`` and ``delta_buffer.py``, what waits between layers, forward and
backward; ``loss.py``, from Q values to TD errors; ``outputs.py``, from Q values or actions to those
who act. ``docs/flow_control.md`` explains their ports.
"""
