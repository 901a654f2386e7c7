"""Learners do the gradient steps. Read ``learner``, then ``card`` (everything on the card),
``replay`` (the card draws, the updater learns), ``advantages`` (the card estimates, the updater
learns) and ``rounds`` (agents act and are trained in rounds, on the card or by the updater).
``fixar`` is ``card`` with a precision that is switched; ``designs`` chooses the learner of a run.
"""
