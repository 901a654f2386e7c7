"""What runs on the CPU, by folder; each imports from those above it.

- ``card``: cards by name, buffers, launches with checked arguments
- ``generate``: what a design leaves for a board
- ``runtime``: what kernels do, as Python calls: replay memory, learner, advantages
- ``collect``: environments, and steps made into experiences and rollouts
- ``algorithms``: policies, gradient steps, hyperparameters; one file each, one registry,
  which finds a user's own too
- ``learners``: the places where gradient steps happen
- ``train``: a run: config, session, log, checkpoint
- ``commands``: the command line, which ``cli`` begins
"""
