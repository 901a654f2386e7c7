"""The small design is in the registries while a test of it runs."""

import pytest
from design.lines import register


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    register(monkeypatch.setitem)
