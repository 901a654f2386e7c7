"""The software on the CPU, a folder a subject; each folder imports only folders above it.

- ``cards``: cards by name, buffers, launches with checked arguments
- ``kernels``: the files of a design for a board
- ``environments``: vectorised environments of gymnasium, and their spaces
- ``algorithms``: what an algorithm is made of, and DQN, DDPG, TD3 and SAC, a file each
- ``programs``: programs of commands on a card, for any design
- ``replay``, ``learner``, ``advantages`` (with PPO), ``a3c``, ``fixar``: a kernel each, with its
  calls from Python, the experiences that it takes, its learner, its algorithm
- ``trainers``, ``proof``: a user's own training code, and whether a kernel does the same
- ``agents``: all algorithms by name, trained policies in files, their evaluation
- ``actors``: environments in other processes
- ``runs``: a training run: config, session, files, checkpoints
- ``terminal``, ``explore``, ``compose``, ``cli``: the command line

Files of no folder, such as ``settings`` and ``checkpoint``, may be imported by each.
"""
