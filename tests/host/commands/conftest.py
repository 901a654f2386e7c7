"""A fixture of the tests of ``rlfabric compose``."""

import pytest

import host.commands.composed as composed
from tests.host.composed_plans import fast


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Nothing is trained; the list of the plans that were measured."""
    names = []

    def told(plans, **options):
        names.extend(plans)
        assert options["launches"] in (400, 7)
        return fast(plans, **options)

    alone = {"sample_us": 20.0, "insert_us": 5.0, "update_us": 10.0}
    monkeypatch.setattr(composed.profile, "measured", told)
    monkeypatch.setattr(composed.primitives, "memory_us", lambda task, inserts: dict(alone))
    monkeypatch.setattr(composed.primitives, "learner_us", lambda task, device: 300.0)
    monkeypatch.setattr(composed.power, "meters", dict)
    monkeypatch.setattr("host.commands.composed.drawn_plans", lambda task, found: b"picture")
    monkeypatch.chdir(tmp_path)
    return names
