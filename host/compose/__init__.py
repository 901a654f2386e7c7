"""Where replay management, learning and storage run on a machine of several devices: PEARL's
System Composer. ``compose_command`` has the options, ``answer`` makes profile and plan,
``compose_view`` prints and draws them; ``algorithm1`` is ``--times``, PEARL's own exercise.
"""
