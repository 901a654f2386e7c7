"""A card ``model`` with a small network, and snapshot 0 of it."""

import pytest
from fa3c.modelled import opened
from fa3c.rounds import CONFIG, parameters_of

from host.a3c.card_network import ActorCritic, Sync


@pytest.fixture
def card():
    with opened(CONFIG) as kernel:
        card = ActorCritic(kernel)
        card.load(parameters_of(CONFIG))
        card.run([Sync(snapshot=0)])
        yield card
