"""errors: TD errors, items, sums and words of errors against the twin of any learner's loss."""

import json

import numpy as np
import pytest
from arith.float32_cases import bits
from pauses import SOLID

from hw.fixar.batch.td_errors import GAP, TdErrors
from hw.fixar.config import FixarConfig
from hw.learner.records import record_words
from hw.nn.td_loss import TdLoss
from hw.replay.records import ITEM
from sim.model.learner.algorithms.ddpg import critic_loss
from sim.model.nn.losses import td_loss

FORMATS = FixarConfig().arithmetic
CLIPS = (np.float32(np.inf), np.float32(1))


def made(config, unit, rng, *, batch, half, pair, gap=0.0, wild=False):
    """What ``errors_bench`` sends and expects of a batch."""
    gradient, activation = FORMATS.gradient, FORMATS.activation
    reward, discount = rng.normal(size=(2, batch)).astype(np.float32)
    scalars = dict(
        index=rng.integers(0, 1 << 32, batch),
        weight=rng.uniform(0.05, 3, batch).astype(np.float32),
        reward=reward,
        discount=np.where(rng.random(batch) < 0.2, 0, discount).astype(np.float32),
    )
    spread = 8 if wild else 3
    q, q_next = (
        np.clip(rng.normal(size=(2, batch)) * 2.0 ** (spread + activation.fraction), -1 << 31, 1e9)
    ).astype(np.int64)
    if wild and batch > 1:
        some = int(rng.integers(batch))
        scalars["reward"][some:] = np.where(rng.random(batch - some) < 0.5, np.inf, reward[some:])
    inverse, clip = np.float32(0.7), CLIPS[0 if wild else int(rng.integers(2))]
    outputs = (q[:, None], q[:, None], q_next[:, None])
    result = critic_loss(td_loss, config, outputs, scalars, inverse, clip)

    words = np.zeros(batch * unit.size, np.uint32)
    offsets = {"index": 0, "weight": 2}
    offsets |= {name: 4 + record_words(config)[name][0] for name in ("reward", "discount")}
    words[:] = rng.integers(0, 1 << 32, len(words))
    for name, offset in offsets.items():
        values = scalars[name]
        words[offset :: unit.size] = bits(values) if values.dtype == np.float32 else values

    groups = config.groups(batch, half)
    places = groups * (1 + half)
    slots = np.arange(places * config.cores)
    errors = np.zeros(len(slots), np.int64)
    errors[:batch] = result.delta[0][:, 0]
    # [place, core]; of a word of two, the second lies beside the first.
    errors, exists = (x.reshape(places, config.cores) for x in (errors, slots < batch))
    if pair:
        rows = [
            [core, word, int(exists[2 * word, core]) | int(exists[2 * word + 1, core]) << 1]
            + [int(errors[2 * word + k, core]) for k in range(2)]
            for word in range(groups)
            for core in range(config.cores)
        ]
    else:
        rows = [
            [core, word, int(exists[word, core]), int(errors[word, core]), None]
            for word in range(places)
            for core in range(config.cores)
        ]
    mask = (1 << gradient.width) - 1
    rows = [[*row[:3], *(None if x is None else x & mask for x in row[3:])] for row in rows]

    def stored(values):
        """[core][word][sample] of what the cores hold; what is no sample is anything."""
        padded = rng.integers(-1 << 31, 1 << 31, len(slots))
        padded[:batch] = values
        table = padded.reshape(groups, 1 + half, config.cores).transpose(2, 0, 1) & 0xFFFFFFFF
        other = rng.integers(0, 1 << 32, table.shape)
        return np.concatenate([table, other], axis=2)[:, :, :2].tolist()

    td = zip(scalars["index"].tolist(), bits(result.td).tolist(), strict=True)
    final = dict(
        loss=int(bits([result.loss])[0]),
        td_sum=int(bits([result.td_sum])[0]),
        diverged=result.diverged is not None,
    )
    if result.diverged is not None:
        final["diverged_index"] = int(scalars["index"][result.diverged])
    return dict(
        inputs=dict(
            batch=batch,
            groups=groups,
            half=int(half),
            pair=int(pair),
            inverse=int(bits([inverse])[0]),
            clip=int(bits([clip])[0]),
        ),
        words=words.tolist(),
        q=stored(q),
        q_next=stored(q_next),
        td=[ITEM.shape.const({"index": i, "value": t}).as_value().value for i, t in td],
        errors=rows,
        final=final,
        saturations=result.saturations,
        gap=gap,
        clocks=unit.latency + GAP * (len(slots) - 1),
    )


@pytest.mark.parametrize(
    "cores, batch", [(1, 1), (2, 24), pytest.param(3, 40, marks=pytest.mark.long)]
)
def test_errors(simulate, tmp_path, cores, batch):
    """Batches of any size one after the other, in every precision, into slow readers too."""
    config = FixarConfig(cores=cores, batch=batch, side=4, observation=3, action=2)
    unit, rng, batches = TdErrors(config), np.random.default_rng(cores), []
    seen = 0
    for k in range(9):
        size = [batch, 1, batch - batch // 4, max(1, cores - 1)][k % 4]
        half = k % 3 > 0
        case = made(
            config,
            unit,
            rng,
            batch=size,
            half=half,
            pair=k % 3 == 2,
            gap=[0.0, 0.97, SOLID][k // 3],
            wild=k % 4 in (0, 3),
        )
        seen += case["saturations"] > 0
        batches.append(case)
    assert seen or batch == 1
    path = tmp_path / "batches.json"
    path.write_text(json.dumps(batches))
    simulate(
        unit,
        "fixar.batch.td_errors_bench",
        batches=str(path),
        width=FORMATS.gradient.width,
        fold=TdLoss.FOLD_LATENCY + 1,
    )
