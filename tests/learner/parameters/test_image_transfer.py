"""image_transfer: the sections of ``parameter_image`` to the layers and back."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from later import later

from hw.learner.block.config import BlockShape
from hw.learner.config import PARAMETER_SETS, LearnerConfig
from hw.learner.parameters.image_transfer import ImageTransfer
from hw.learner.parameters.parameter_image import sections

CONFIGS = {
    # Words of four numbers and of one; a section of a single beat.
    "dqn": LearnerConfig(observation=3, action=2, hidden=(6, 3), batch=4, multipliers=4),
    "ddpg": LearnerConfig(
        algorithm="ddpg", observation=2, action=1, hidden=(5,), batch=4, multipliers=2
    ),
    # Layers of blocks, of which a part is two words of four numbers, a word of two, and of one.
    "blocks": SimpleNamespace(
        networks={
            "q": (
                BlockShape(inputs=3, outputs=4, input_word=3, output_word=4, part=8),
                BlockShape(inputs=4, outputs=3, input_word=4, part=2),
                BlockShape(inputs=3, outputs=1),
            )
        }
    ),
}


def command(config, data_width, sets, store, rng):
    """What the bench needs; a word that no layer has is 0 where stored, anything where loaded."""
    names = tuple(kind for k, kind in enumerate(PARAMETER_SETS) if sets >> k & 1)
    order = [(s.network, s.position) for s in sections(config, PARAMETER_SETS[:1])]
    found, data = [], b""
    for section in sections(config, names):
        assert section.offset == len(data)
        numbers = rng.integers(0, 1 << 32, section.size // 4, dtype="<u4")
        vector = section.layer.image_word
        if store:
            numbers[section.layer.image_words * vector :] = 0
        words = numbers[: section.layer.image_words * vector].reshape(-1, vector)
        words = [int.from_bytes(word.tobytes(), "little") for word in words]
        layer = order.index((section.network, section.position))
        found.append((layer, PARAMETER_SETS.index(section.parameter_set), words))
        data += numbers.tobytes()
    size = data_width // 8
    beats = [int.from_bytes(data[k : k + size], "little") for k in range(0, len(data), size)]
    return dict(sets=sets, store=store, beats=beats, sections=found)


#: Masks of parameter sets: each alone, some, and all; the long tests have every mask.
_FEW, _SOME, _EVERY = (2, 6, 15), (1, 2, 4, 6, 8, 15), range(1, 16)


@pytest.mark.parametrize(
    "name, data_width, masks",
    [
        ("ddpg", 128, _FEW),
        ("dqn", 512, _SOME),
        ("blocks", 128, _SOME[-1:]),
        later("ddpg", 128, _EVERY),
        later("dqn", 128, _EVERY),
        later("ddpg", 512, _SOME),
    ],
)
def test_transfer(simulate, tmp_path, name, data_width, masks):
    config, rng = CONFIGS[name], np.random.default_rng(1)
    layers = sections(config, PARAMETER_SETS[:1])
    assert len({s.layer.image_word for s in layers}) > 1, "words of several sizes"
    commands = [
        command(config, data_width, sets, store, rng)
        for sets in masks
        for store in rng.permutation([False, True]).tolist()
    ]
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(commands))
    simulate(
        ImageTransfer(config, data_width),
        "learner.parameters.image_transfer_bench",
        vectors=str(file),
        layers=len(layers),
    )
