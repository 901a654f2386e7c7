"""Where replay management, learning and storage run on a machine of several devices: PEARL's
System Composer. Files of a machine, its times, PEARL's equations, Algorithm 1; the command is
``compose_command``."""
