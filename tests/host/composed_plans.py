"""``rlfabric compose`` with profiles in which nothing is trained."""

from functools import partial

import host.compose.answer as composed
from host.compose.profile import Profile
from tests.host.command_lines import invoke

__all__ = ["DQN", "compose", "fast", "unmeasured"]

DQN = ["dqn", "--env", "CartPole-v1"]
#: As ``invoke`` of ``rlfabric compose``.
compose = partial(invoke, "compose")


def fast(plans, card="model", board="u200", launches=400):
    """Profiles in which each further plan takes 100 us longer."""
    parts = {"environments": 100.0, "policy": 0.0, "packing": 0.0, "other": 0.0, "memory": 50.0}
    return {
        name: Profile(
            updates=each.updates_per_launch if hasattr(each, "updates_per_launch") else 4.0,
            parts=parts | {"device": 10.0, "learning": 100.0 * k},
            run=160 + 100.0 * k, p10=1.0, p50=2.0, p90=3.0,
        )
        for k, (name, (each, _)) in enumerate(plans.items())
    }  # fmt: skip


def unmeasured(monkeypatch):
    """Nothing is trained, timed or drawn; the list of the plans that were measured."""
    names = []

    def told(plans, **options):
        names.extend(plans)
        assert options["launches"] in (400, 7)
        return fast(plans, **options)

    alone = {"sample_us": 20.0, "insert_us": 5.0, "update_us": 10.0}
    monkeypatch.setattr(composed.profile, "measured", told)
    monkeypatch.setattr(composed.primitive_times, "memory_us", lambda task, inserts: dict(alone))
    monkeypatch.setattr(composed.primitive_times, "learner_us", lambda task, device: 300.0)
    monkeypatch.setattr(composed.power, "meters", dict)
    monkeypatch.setattr("host.compose.answer.drawn_plans", lambda task, found: b"picture")
    return names
