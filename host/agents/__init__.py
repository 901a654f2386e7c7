"""Agents by name: ``registry`` lists all algorithms, ``policy_file`` keeps trained policies, and
``evaluation`` plays greedy episodes.
"""
