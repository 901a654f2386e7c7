"""Every field of every design's config, from the command line: texts of it are equal configs."""

from collections import defaultdict

import pytest
from legal_configs import FIXED, legal_config

import boards
import host.kernels
from host.kernels import configure, find_design
from host.runs.request import request
from host.settings import leaves, override, text_of
from hw.designs import DESIGNS

#: Boards whose defaults differ most: in one a3c has convolutions, in the other it has none.
BOARDS = ("u200", "ulx3s")
#: An algorithm that trains on each design, and its options.
TRAINED = {
    "replay": ("dqn", {"learner": "cpu"}),
    "gae": ("ppo", {}),
    "dqn": ("dqn", {}),
    "ddpg": ("ddpg", {"design": "own"}),
    "fixar": ("ddpg", {"design": "fixar"}),
    "a3c": ("a3c", {}),
}


def texts_of(config):
    return {name: text_of(value) for name, value, _ in leaves(config)}


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", DESIGNS)
def test_texts_are_the_config(name, board):
    """hw_arrays 1b. Also that each field has been two things: none is left out by the generator."""
    default = find_design(name).default(boards.get(board).numbers)
    seen = defaultdict(set)
    for seed in range(40):
        config = legal_config(name, seed)
        texts = texts_of(config)
        assert override(default, texts) == config, texts
        for field, text in texts.items():
            seen[field].add(text)
    for field, texts in seen.items():
        fixed = field.startswith(FIXED.get(name, ())) or field.endswith(".signed")
        assert (len(texts) > 1) != fixed, (field, texts)


@pytest.mark.parametrize("name", DESIGNS)
def test_verilog(run, monkeypatch, name):
    """`rlfabric verilog` with every field set."""
    config, found = legal_config(name, 1), []

    def generate(design, board, out, *, overwrite, library, **values):
        monkeypatch.setattr(host.kernels, "_check", lambda *_: None)
        found.append(configure(find_design(design), boards.get(board), values, library=library))
        return out

    monkeypatch.setattr(host.kernels, "generate", generate)
    settings = (word for item in texts_of(config).items() for word in ("--set", "=".join(item)))
    assert run("verilog", name, *settings)[0] == 0 and found == [config]


@pytest.mark.parametrize("name", TRAINED)
def test_the_kernel_of_a_run(name):
    """`--set kernel.FIELD=VALUE` of `rlfabric train`: what the run leaves open is as asked."""
    algorithm, options = TRAINED[name]
    texts = {f"kernel.{field}": text for field, text in texts_of(legal_config(name, 2)).items()}
    config, kernel = request(algorithm, options=options, settings=texts)
    assert config.kernel == name
    default = find_design(name).default(boards.get("u200").numbers)
    assert override(
        default, kernel, shown_names={name: f"kernel.{name}" for name in kernel}
    ) == legal_config(name, 2)
