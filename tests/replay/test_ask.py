"""hw.replay.ask: operations of every kind of command, their answers, and when all are there."""

from hw.replay.ask import Ask
from hw.replay.config import ReplayConfig


def test_ask(simulate):
    config = dict(capacity=21, fanout=4, priority_width=12, priority_fraction=8)
    simulate(Ask(ReplayConfig(**config)), "replay.ask_bench", config=config)
