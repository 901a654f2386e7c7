"""Actors beyond one process: each steps environments of its own by weights that it is sent, on this
machine or on the machines of a Ray cluster. Read ``messages`` first, then ``worker`` and ``pool``.
"""
