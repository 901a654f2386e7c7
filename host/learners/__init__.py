"""Where gradient steps happen. Read ``learner``, then ``card`` (all of it on the card), ``replay``
(the card draws, the updater learns) and ``advantages`` (the card estimates, the updater learns)."""
