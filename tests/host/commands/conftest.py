"""A fixture of the tests of ``rlfabric compose``."""

import pytest

from tests.host.composed_plans import unmeasured


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Nothing is trained; the list of the plans that were measured."""
    monkeypatch.chdir(tmp_path)
    return unmeasured(monkeypatch)
