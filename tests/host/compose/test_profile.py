"""Profiles: what is measured, the file, and why one is refused."""

import json

import numpy as np
import pytest

from host.compose import profile
from host.compose.profile import Profile, load, measured, save
from host.compose.trial import PARTS
from hw.errors import UsageError

TASK = {"config": {"algo": "dqn", "env": "CartPole-v1"}, "card": "model"}
KNOWN = {"a plan": Profile(updates=1.5, parts={"device": 2.0}, run=3.0, p10=1.0, p50=2.0, p90=9.0)}


def rounds(*means):
    """A round of four launches for each of ``means``; part k takes (k + 1) times as long."""
    shares = np.arange(1, len(PARTS) + 1)
    spread = np.array([0.5, 1.0, 1.0, 1.5])[:, None]
    return [(mean * spread * shares, 6, 30 * mean) for mean in means]


def test_medians_over_rounds_of_means_over_launches():
    found = profile.profile_of(rounds(10.0, 1000.0, 20.0))
    assert list(found.parts) == list(PARTS)
    assert list(found.parts.values()) == [20.0 * (k + 1) for k in range(len(PARTS))]
    assert found.updates == 1.5 and found.run == 600.0
    whole = 28 * np.outer([10, 1000, 20], [0.5, 1, 1, 1.5]).ravel()
    assert [found.p10, found.p50, found.p90] == pytest.approx(np.percentile(whole, (10, 50, 90)))


def test_plans_take_turns(monkeypatch):
    calls = []

    class Told:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            return self

        def __exit__(self, *_):
            calls.append((self.name, "closed"))

        def warm(self, launches):
            calls.append((self.name, "warm", launches))

        def run(self, launches):
            calls.append((self.name, "parts", launches))
            return np.ones((launches, len(PARTS))), launches

        def elapsed(self, launches):
            calls.append((self.name, "whole", launches))
            return 9.0 * launches, launches

    def trial(config, *, inline, card, board, kernel):
        assert (card, board, kernel) == ("sim", "u50", {"lanes": 2})
        return Told(config + "-+"[inline])

    monkeypatch.setattr(profile, "trial", trial)
    plans = {name: (name, {"lanes": 2}) for name in "ab"}
    found = measured(plans, launches=10, rounds=2, card="sim", board="u50")
    warm = [(f"{name}{how}", "warm", 20) for name in "ab" for how in "+-"]
    turn = [
        (f"{name}{how}", what, 5) for name in "ab" for how, what in (("+", "parts"), ("-", "whole"))
    ]
    closed = [(f"{name}{how}", "closed") for name in "ba" for how in "-+"]
    assert calls == [*warm, *turn, *turn, *closed]
    assert found["a"].updates == 1 and found["a"].run == 9.0


def test_the_file(tmp_path):
    path = tmp_path / "profile.json"
    save(path, TASK, KNOWN, watts={"cpu": 12.5})
    before = path.read_bytes()
    found = load(path, TASK)
    assert found["plans"] == KNOWN and found["watts"] == {"cpu": 12.5}
    assert found["machine"] == profile.here() and found["machine"]["cores"] >= 1
    assert found["machine"]["versions"]["numpy"] == np.__version__
    save(path, TASK, KNOWN, watts={"cpu": 12.5})
    assert path.read_bytes() == before and str(tmp_path) not in path.read_text()


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"plans": {"a": {"p10": 1}}}'])
def test_damaged(tmp_path, text):
    path = tmp_path / "profile.json"
    if text is not None:
        path.write_text(text)
    why = r"a profile, not damaged \(.*\)" if text is not None else f"in {tmp_path}, not absent"
    again = "measure one: the same command with --profile"
    with pytest.raises(UsageError, match=f"^profile.json must be {why}; {again}$") as caught:
        load(path, TASK)
    assert "Errno" not in str(caught.value)


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda found: found.update(version=0), r".*this version.*\(0, not 1\)"),
        (
            lambda found: found["machine"].update(cores=999),
            r".*this machine.*\(cores 999, not \d+\)",
        ),
        (
            lambda found: found["machine"]["versions"].update(numpy="1.0"),
            r".*this machine.*\(versions.numpy '1.0', not",
        ),
        (
            lambda found: found["task"]["config"].update(env="Acrobot-v1"),
            r".*this task.*\(config.env 'Acrobot-v1', not 'CartPole-v1'\)",
        ),
        (lambda found: found["task"].update(more=1), r".*this task.*\(more 1, not None\)"),
    ],
)
def test_of_another_machine_or_task(tmp_path, change, told):
    path = tmp_path / "profile.json"
    save(path, TASK, KNOWN)
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    with pytest.raises(UsageError, match=f"profile.json must be of {told}.*; measure one"):
        load(path, TASK)
