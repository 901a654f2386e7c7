"""Collects experience. Read ``environment`` (steps with their true successors), then ``collector``
and ``nstep`` (for a replay memory), ``rollout`` (for agents that learn from the newest rollout) or
``rounds`` (for agents that act in rounds)."""
