"""Whether a kernel does what a user's trainer does: ``trainer_reading`` says which algorithm it
could be, ``step_recording`` records gradient steps, ``kernel_proof`` compares them with the twins.
"""
