"""hw.shell.dispatcher in ``hw.shell.core``: what is taken, refused, moved, and what comes of it."""

from shell.dispatcher_top import DispatcherTop


def test_dispatcher(simulate):
    simulate(DispatcherTop(), "shell.dispatcher_bench")
