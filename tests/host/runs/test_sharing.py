"""Configs of runs whose agents share theta as in GA3C or PAAC."""

import pytest

from host.a3c.agent import A3CConfig
from host.runs.round_runs import RoundsConfig

MERGED = dict(sharing="paac", populations=1)


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(sharing="gorila"), "sharing must be one of a3c, ga3c, paac, not 'gorila'"),
        (dict(sharing="ga3c", learner="cpu"), "learner must be card with sharing ga3c, not 'cpu'"),
        (dict(sharing="paac"), "populations must be 1 with sharing paac, not 2"),
        (dict(**MERGED, group=2), "group must be None with sharing paac, not 2"),
        (
            dict(**MERGED, env_count=7),
            "env_count must be an integer in 1..6 with sharing paac and batch_size 5, not 7",
        ),
        (
            dict(**MERGED, env_count=9, agent=A3CConfig(batch_size=2)),
            "env_count must be an integer in 1..8 with sharing paac and batch_size 2, not 9",
        ),
    ],
)
def test_config_rejects(values, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        RoundsConfig(**values)


def test_sizes():
    """Those of the kernel: with ga3c there may be more groups than snapshots."""
    merged = RoundsConfig(**MERGED, env_count=6)
    assert (merged.groups, merged.group_size, merged.snapshots, merged.samples) == (1, 6, 1, 30)
    shared = RoundsConfig(env_count=64, group=2, sharing="ga3c", learner="card")
    assert (shared.groups, shared.snapshots, shared.samples) == (16, 2, 5)
    values = [config.kernel_values() for config in (merged, shared)]
    names = ("steps", "batch", "agents", "snapshots")
    assert [[each[name] for name in names] for each in values] == [[30, 6, 12, 2], [5, 2, 96, 5]]
    assert RoundsConfig.from_json(shared.to_json()) == shared
