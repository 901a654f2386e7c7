"""The networks of an agent: layers end to end, and the loss.

Read ``trainer.py``, which wires everything and is the learner that the core sees; ``layer.py``, one
layer; ``loss.py``, from Q values to TD errors; ``outputs.py``, from Q values or actions to beats
for the host. ``docs/flow_control.md`` explains their ports.
"""
