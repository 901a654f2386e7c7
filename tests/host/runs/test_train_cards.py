"""A training run is the same on the twins and on the Verilog, and goes on after an interrupt."""

import functools
import io
from dataclasses import replace

import pytest
from replay.kernels import WIDE, opened
from rich.console import Console

from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.runs.assembly import build
from host.runs.loop import train
from host.runs.replay_runs import OffPolicyConfig
from host.runs.run_log import read_progress

CONFIG = OffPolicyConfig(
    steps=4800, capacity=3000, learning_starts=500, log_interval_steps=400, seed=4
)


def factory(kernel):
    return functools.partial(PrioritizedReplayBuffer, kernel)


def progress(card, out, first):
    """Rows of progress.csv but for what depends on the machine or the card's clock."""
    config, console = replace(CONFIG, first_priority=first), Console(file=io.StringIO())
    with opened(card, WIDE) as kernel:
        train(config, factory(kernel), out=out, card=card, console=console)
    rows = read_progress(out)
    return [
        {n: value for n, value in row.items() if "seconds" not in n and n != "device_cycles"}
        for row in rows
    ]


@pytest.mark.long  # a kernel of its own
@pytest.mark.parametrize("first", ["largest", "td_error"])
def test_same_training_on_both_cards(tmp_path, first):
    model, sim = (progress(card, tmp_path / card, first) for card in ("model", "sim"))
    assert len(model) > 10 and model[-1]["fill"] == CONFIG.capacity  # the ring has wrapped
    assert model == sim


@pytest.mark.parametrize("card", ["model", "sim"])
def test_resumed_session_draws_the_same_batch(card):
    """State saved in mid-training, loaded into a new session: the next batch and its TD errors
    are equal."""

    def errors(session, launches):
        for _ in range(launches):
            session.iterate()
        return [part.tolist() for part in session.learner.state_dict()["errors"]]

    with opened(card, WIDE) as kernel:
        first = build(CONFIG, factory(kernel))
        errors(first, 200)
        state = first.state_dict()
        wanted = errors(first, 1)
        first.close()
    with opened(card, WIDE) as kernel:
        second = build(CONFIG, factory(kernel))
        second.load_state_dict(state)
        assert errors(second, 1) == wanted
        second.close()
