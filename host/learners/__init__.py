"""Where gradient steps happen. Read ``learner``, then ``card`` (all of it on the card), ``replay``
(the card draws, the updater learns), ``advantages`` (the card estimates, the updater learns) and
``rounds`` (agents that are inferred and trained in rounds, on the card or by the updater).
``fixar`` is ``card`` with a precision that is switched; ``designs`` says which of them a run has.
"""
