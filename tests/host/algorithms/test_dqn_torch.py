"""host.algorithms.dqn against torch.nn, autograd, its losses and optimizers, over 20 updates."""

import numpy as np
import pytest
import torch

from host.algorithms.activation import ACTIVATIONS
from tests.host.agent_parts import Peer, make, make_batch, optimizer, scramble

CASES = [
    dict(activation=activation, loss=loss, dueling=dueling, optimizer=rule)
    for activation in ACTIVATIONS
    for loss in ("huber", "squared")
    for dueling in (False, True)
    for rule in ("adam", "rmsprop", "sgd")
]
CASES += [
    dict(loss="mse"),
    dict(double=False),
    dict(target_tau=1.0, target_interval=6),
    dict(max_gradient_norm=None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_training_is_torchs(case):
    settings = dict(
        learning_rate=0.01,
        momentum=0.9,
        huber_delta=0.7,
        max_gradient_norm=0.5,
        target_tau=0.1,
        target_interval=1,
        optimizer_epsilon=1e-5,
    )
    agent = make("dqn", **settings | case)
    scramble(agent)
    trained, config = agent.updater.networks["q"], agent.policy.config
    online, target = Peer(trained.network), Peer(trained.network, trained.target_parameters)
    rule, chosen = optimizer(config, online.parameters(), 0.01), []
    for i in range(20):
        batch = make_batch(seed=i)
        t = {name: torch.from_numpy(array) for name, array in batch.items()}
        with torch.no_grad():
            own, others = (net(t["next_obs"]).argmax(1, keepdim=True) for net in (online, target))
            value = target(t["next_obs"]).gather(1, own if config.double else others)[:, 0]
            y = t["reward"] + t["discount"] * value
        chosen.append((own != others).any())
        q = online(t["obs"]).gather(1, t["action"].long()[:, None])[:, 0]
        if config.loss == "huber":
            each = torch.nn.functional.huber_loss(q, y, reduction="none", delta=0.7)
        else:
            share = 1 if config.loss == "mse" else 0.5
            each = share * torch.nn.functional.mse_loss(q, y, reduction="none")
        objective = (t["weights"] * each).mean()
        rule.zero_grad()
        objective.backward()
        if config.max_gradient_norm:
            torch.nn.utils.clip_grad_norm_(online.parameters(), config.max_gradient_norm)
        rule.step()
        if (i + 1) % config.target_interval == 0:
            target.follow(online, config.target_tau)
        td, measured = agent.learn(batch)
        np.testing.assert_allclose(td, (y - q).detach().numpy(), rtol=2e-3, atol=2e-4)
        assert measured["loss"] == pytest.approx(objective.item(), rel=2e-3)
    assert any(chosen), "the two choices differ"
    for parameters, peer in (
        (trained.network.parameters, online),
        (trained.target_parameters, target),
    ):
        np.testing.assert_allclose(parameters, peer.flat, rtol=5e-3, atol=5e-4)
