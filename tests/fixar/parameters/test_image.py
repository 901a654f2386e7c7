"""image: the sections of ``parameter_image``, as the layers pack them, to the memories and back."""

import json

import numpy as np
import pytest
from fixar.parameters.cases import hexadecimal, layers, learner, random_parameters, words_of
from fixar.parameters.images import beats_of, image_of

from hw.fixar.parameters.image import Image
from hw.learner.config import PARAMETER_SETS, stored_sets
from hw.learner.parameters.parameter_image import sections


class Commands:
    """Commands one after the other, and what the memories are behind each."""

    def __init__(self, config, data_width, rng):
        self.config, self.data_width, self.rng = config, data_width, rng
        self.now, self.commands = random_parameters(config, rng), []
        self.memories = self._memories()

    def _memories(self):
        return {
            name: hexadecimal(words_of(self.config, self.now, name))
            for name in stored_sets(self.config)
        }

    def add(self, sets, store):
        names = tuple(name for k, name in enumerate(PARAMETER_SETS) if sets >> k & 1)
        if store:
            numbers = image_of(self.config, self.now, names)
        else:
            new = random_parameters(self.config, self.rng)
            numbers = image_of(self.config, new, names, noise=self.rng)
            for network, position, _ in layers(self.config):
                for name in names:
                    self.now[network][position][name] = new[network][position][name]
        slowest = min(self.data_width, 32 * self.config.side)
        self.commands.append(
            dict(
                sets=sets,
                store=store,
                words=32 * len(numbers) // slowest,
                beats=beats_of(numbers, self.data_width),
                expected=self._memories(),
            )
        )


@pytest.mark.parametrize(
    "side, optimizer, data_width, port_words",
    [
        # Beats of two words; of one word they are in every kernel that is tested.
        (4, "rmsprop", 256, 2),
        pytest.param(4, "adam", 128, 1, marks=pytest.mark.long),
        pytest.param(4, "sgd", 512, 1, marks=pytest.mark.long),
        pytest.param(16, "adam", 128, 1, marks=pytest.mark.long),
        pytest.param(16, "sgd", 512, 4, marks=pytest.mark.long),
    ],
)
def test_image(simulate, tmp_path, side, optimizer, data_width, port_words):
    options = dict(side=side, optimizer=optimizer, port_words=port_words, action=3)
    options["observation"] = 5
    options["hidden"] = (9, 8) if side == 4 else (20,)
    config, rng = learner(**options), np.random.default_rng(data_width)
    commands = Commands(config, data_width, rng)
    memories = commands.memories
    for sets, store in [(15, 1), (6, 0), (13, 0), (15, 1), (8, 1), (1, 0)]:
        commands.add(sets, store)
    everything = sections(config)
    assert side > 4 or any(s.layer.numbers > s.layer.words * side for s in everything)
    file = tmp_path / "vectors.json"
    file.write_text(
        json.dumps(
            dict(
                memories=memories,
                commands=commands.commands,
                sections=[section.offset for section in everything],
            )
        )
    )
    simulate(
        Image(config, data_width),
        "fixar.parameters.image_bench",
        vectors=str(file),
        learner=options,
        data_width=data_width,
    )


def test_rejects():
    with pytest.raises(ValueError, match="^data_width must be 128, 256 or 512, not 64$"):
        Image(learner(4), 64)
