"""The software on the CPU, by folder; each folder imports from those above it.

- ``card``: cards by name, buffers, launches with checked arguments
- ``generate``: the files of a design for a board
- ``runtime``: Python calls for kernels: replay memory, learner, advantages
- ``collect``: environments, whose steps become experiences and rollouts
- ``algorithms``: policies, gradient steps, hyperparameters; one file for each algorithm, and one
  registry, which finds a user's own algorithms too
- ``learners``: gradient steps on the CPU or on the card
- ``train``: a run: config, session, log, checkpoint
- ``commands``: the command line, which ``cli`` starts
"""
