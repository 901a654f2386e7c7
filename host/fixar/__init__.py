"""FIXAR: DDPG on kernel ``fixar``, whose precision is switched during training. Read
``fixar_ddpg`` (the agent) and ``precision_schedule``, then ``fixar_replay`` (calls of the kernel)
and ``fixar_learner`` (what a run does).
"""
