"""Units of a neural network that need an arithmetic and no memory, command or agent.

Read ``layouts.py`` (layouts of numbers side by side), ``batch_sum.py`` (sums,
and their order), ``activation.py``, then ``td_loss.py`` (TD error, Huber loss, gradient),
``optimizer.py`` (SGD, RMSProp, Adam and the target network, one parameter a clock) and
``fixed_optimizer.py`` (the same in fixed arithmetic). ``hw.learner`` is made of these units.
"""
