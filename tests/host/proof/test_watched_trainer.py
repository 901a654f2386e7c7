"""host.proof.watched_trainer: all ways in which torch draws normal numbers, and others."""

import numpy as np
import pytest
import torch

from host.proof.watched_trainer import given_normals
from hw.errors import UsageError
from tests.host.compose.trainer_files import CONTINUOUS, changed
from tests.host.proof.test_kernel_proof import proved

LIKE = torch.zeros(2, 3)
#: Draws, and their mean and deviation.
DRAWS = {
    "randn": (lambda: torch.randn(2, 3), 0, 1),
    "randn of a size": (lambda: torch.randn((2, 3), generator=torch.Generator()), 0, 1),
    "randn_like": (lambda: torch.randn_like(LIKE), 0, 1),
    "normal_": (lambda: torch.empty(2, 3).normal_(1, 0.5), 1, 0.5),
    "normal_ of names": (lambda: LIKE.clone().normal_(std=3), 0, 3),
    "normal": (lambda: torch.normal(2.0, 0.5, (2, 3)), 2, 0.5),
    "normal of a size": (lambda: torch.normal(mean=2.0, std=0.5, size=(2, 3)), 2, 0.5),
    "normal of means": (lambda: torch.normal(LIKE + 1, 0.25), 1, 0.25),
    "normal of both": (lambda: torch.normal(LIKE, torch.full((3,), 2.0)), 0, 2),
    "a distribution": (lambda: torch.distributions.Normal(LIKE, 2.0).sample(), 0, 2),
}


@pytest.mark.parametrize("draw, mean, deviation", DRAWS.values(), ids=DRAWS)
def test_normal_numbers_are_given(draw, mean, deviation):
    rng, asked = np.random.default_rng(1), []
    numbers = torch.from_numpy(rng.normal(size=(2, 3)))

    def given(shape):
        asked.append(shape)
        return numbers

    before = torch.get_rng_state()
    with given_normals(given):
        found = draw()
    assert asked == [(2, 3)] and found.dtype == torch.float32
    np.testing.assert_allclose(found, numbers.float() * deviation + mean, rtol=1e-6)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(draw(), found), "and only within it"


def test_other_draws_are_not():
    torch.manual_seed(3)
    wanted = torch.rand(4), torch.randint(9, (4,))
    torch.manual_seed(3)
    with given_normals(None):
        found = torch.rand(4), torch.randint(9, (4,))
    assert all(map(torch.equal, found, wanted))


_NOISE = "torch.randn_like(action)"


@pytest.mark.parametrize(
    "draw, words",
    [
        ("torch.rand_like(action)", "no random numbers to train on the card, not those of torch$"),
        (f"{_NOISE} + {_NOISE}", r"normal numbers \[24, 2\] once to .*, not \[24, 2\] again$"),
        ("torch.randn(2)", r"normal numbers \[24, 2\] once to train on the card, not \[2\]$"),
    ],
)
def test_draws_that_are_no_noise_of_td3(draw, words, tmp_path):
    with pytest.raises(UsageError, match=f"^update_policy must draw {words}"):
        proved(changed(tmp_path, "delayed", (_NOISE, draw)), CONTINUOUS)
