"""The algorithms that a learner has: an object each, and all that tells one from another.

Read ``algorithm.py`` (what an algorithm says), then ``dqn.py``; ``registry.py`` names them all.
"""
