"""operation_issuer: operations of every kind of command, their answers, and when all are there."""

from hw.replay.config import ReplayConfig
from hw.replay.operation_issuer import OperationIssuer


def test_ask(simulate):
    config = dict(capacity=21, fanout=4, priority_width=12, priority_fraction=8)
    simulate(
        OperationIssuer(ReplayConfig(**config)), "replay.operation_issuer_bench", config=config
    )
