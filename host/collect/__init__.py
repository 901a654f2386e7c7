"""Experience. Read ``environment`` (steps with their true successors), then ``collector`` and
``nstep`` (for a replay memory) or ``rollout`` (for agents that learn from each step once)."""
