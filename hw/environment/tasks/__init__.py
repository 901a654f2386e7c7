"""Tasks of gymnasium's classic control, in 32-bit fixed point.

Read ``cartpole.py``, then ``mountain_car.py`` and ``pendulum.py``, whose angles wrap.
"""
