"""``rlfabric compose`` with profiles: what it measures, chooses, prints, writes and runs."""

import json

import pytest
from typer.testing import CliRunner

import host.compose.answer as composed
import rlfabric
from host.cli.app import app
from host.runs.request import request
from hw.errors import UsageError
from tests.host.composed_plans import DQN, compose, fast
from tests.host.machine_files import write_machine


def test_profile_and_plan(measured, tmp_path):
    printed = compose(*DQN, "--profile")
    assert measured == [
        "rm cpu, learner cpu",
        "rm cpu, learner card, kernel dqn",
        "rm card, learner cpu, kernel replay",
        "rm card, learner card, kernel dqn",
    ]
    out = tmp_path / "runs/compose-dqn-CartPole-v1"
    assert sorted(path.name for path in out.iterdir()) == ["grid.png", "plan.json", "profile.json"]
    assert "choice: RM on cpu0, learner on cpu0 (setting 2 of PEARL)" in printed
    found = json.loads((out / "plan.json").read_text())
    assert found["mapping"] == {
        "rm": "cpu0", "learner": "cpu0", "act": "cpu0", "storage": "cpu0", "storage_run": "cpu0",
        "setting": 2,
    }  # fmt: skip
    predicted = found["predicted"]
    assert (predicted["iteration_us"], predicted["gps"], predicted["eps"]) == (160, 6250, 200e3)
    assert predicted["bound_by"] == "acting" and predicted["parts"]["memory"] == 50
    assert found["config"]["memory"] == "tree" and found["kernel"] is None
    assert found["task"] == {"uniform": False, "steps_per_update": 32.0, "trainer": None}
    pairs = [(each["rm"], each["learner"]) for each in found["alternatives"]]
    assert pairs == [(a, b) for a in ("cpu0", "card0") for b in ("cpu0", "card0")]
    # Equation 7: 20 + max(5, 10 + 300); the twin has no clock, and so no time.
    assert [each["equation7_us"] for each in found["alternatives"]] == [330, None, None, None]


def test_again_without_measuring_and_equal_bytes(measured, tmp_path):
    compose(*DQN, "--profile")
    before = (tmp_path / "runs/compose-dqn-CartPole-v1/plan.json").read_bytes()
    measured.clear()
    again = compose(*DQN, "--json")
    assert not measured and again.encode() == before
    assert str(tmp_path).encode() not in before


def test_a_card_of_a_board(measured, tmp_path):
    compose(*DQN, "--profile")
    assert "the card takes" not in compose(*DQN, "--board", "u200")  # the choice has none
    found = json.loads((tmp_path / "runs/compose-dqn-CartPole-v1/plan.json").read_text())
    assert found["board"] == "u200" and found["machine"]["devices"][1]["board"] == "u200"
    both = found["alternatives"][3]
    assert both["launch_clocks"] > 2000
    # The card overlaps: what binds is the interpreter, 100 + 50 + 300.
    assert both["iteration_us"] == 450 and both["equation7_us"] < 100
    assert all(each["equation7_us"] for each in found["alternatives"])


@pytest.mark.parametrize("machine", ["pearl_cgf", "u200_host", "u50_host", "zcu106"])
def test_machines_that_are_shipped(measured, machine):
    compose(*DQN, "--profile")
    printed = compose(*DQN, "--machine", machine)
    assert "choice: RM on " in printed and "software: times on " in printed
    assert ("time unknown, no profile" in printed) == (machine == "pearl_cgf")


def test_uniform_draws_have_a_ring_on_the_cpu(measured):
    found = json.loads(compose(*DQN, "--profile", "--uniform", "--json"))
    assert found["config"]["memory"] == "ring" and found["task"]["uniform"]


def test_sizes_are_the_users(measured):
    found = json.loads(compose(*DQN, "--profile", "--batch", 64, "--ratio", 8, "--json"))
    assert found["sizes"]["batch"] == 64 and found["sizes"]["inserts"] == 8
    assert found["config"]["agent"]["batch_size"] == 64
    assert found["config"]["updates_per_launch"] == 4


def test_designs_of_an_algorithm(measured):
    found = json.loads(compose("ddpg", "--env", "Pendulum-v1", "--profile", "--json"))
    kernels = {each["kernel"] for each in found["alternatives"]}
    assert kernels == {"none", "replay", "ddpg", "fixar"}
    assert "rm card, learner card, kernel fixar" in measured


def test_rounds(measured):
    found = json.loads(compose("a3c", "--env", "CartPole-v1", "--profile", "--json"))
    assert measured == ["learner cpu", "learner card, kernel a3c"]
    assert found["mapping"]["rm"] is None and found["mapping"]["learner"] == "cpu0"
    board = json.loads(compose("a3c", "--env", "CartPole-v1", "--board", "u50", "--json"))
    assert board["alternatives"][1]["launch_clocks"] > 1000


def test_rollouts(measured):
    printed = compose("ppo", "--env", "CartPole-v1", "--profile")
    assert measured == ["learner cpu, kernel gae"]
    assert "not learner on card0: the gradient steps of ppo must be on a cpu or cuda" in printed
    assert "choice: learner on cpu0, kernel gae" in printed


def test_train_takes_the_plan(measured, tmp_path):
    compose(*DQN, "--profile", "--board", "u200", "--set", "kernel.lanes=4", "--ratio", 8)
    path = tmp_path / "runs/compose-dqn-CartPole-v1/plan.json"
    config, kernel = request("dqn", options={}, settings={}, file=path, board="u200")
    found = json.loads(path.read_text())
    assert json.loads(config.to_json()) == found["config"]
    assert found["kernel"] is None and kernel == {}


def test_train_takes_the_kernel_of_the_plan(measured, tmp_path, monkeypatch):
    monkeypatch.setattr(composed.profile, "measured", lambda plans, **_: {
        name: fast({name: each})[name] for name, each in plans.items() if "kernel dqn" in name
    })  # fmt: skip
    printed = compose(*DQN, "--profile", "--board", "u200", "--set", "kernel.lanes=4")
    assert "the card takes " in printed and " clocks a launch, and is busy " in printed
    path = tmp_path / "runs/compose-dqn-CartPole-v1/plan.json"
    found = json.loads(path.read_text())
    assert found["kernel"]["name"] == "dqn" and found["mapping"]["rm"] in ("cpu0", "card0")
    config, kernel = request("dqn", options={}, settings={}, file=path, board="u200")
    assert config.learner == "card" and kernel == {"learner.lanes": 4}


def test_run_trains_by_the_plan(measured, monkeypatch):
    asked = []

    def start(config, **options):
        asked.append((config, options))
        return 7

    monkeypatch.setattr("host.runs.start_run.start", start)
    found = CliRunner().invoke(app, ["compose", *DQN, "--profile", "--run", "--card", "model"])
    assert found.exit_code == 7
    [(config, options)] = asked
    assert (config.memory, config.learner, config.env) == ("tree", "cpu", "CartPole-v1")
    assert options == {"card": "model", "board": "u200", "kernel": {}}


def test_watts_of_the_profile(measured, monkeypatch, tmp_path):
    class Meter:
        def __init__(self):
            self.now = 0.0

        def joules(self):
            self.now += 50.0
            return self.now

    monkeypatch.setattr(composed.power, "meters", lambda: {"cpu": Meter()})
    found = json.loads(compose(*DQN, "--profile", "--json"))
    cpu = found["machine"]["devices"][0]
    assert cpu["watts"] > 0 and cpu["source"].endswith("; watts of the profile")
    assert found["predicted"]["eps_per_watt"] == pytest.approx(200e3 / cpu["watts"], abs=1e-3)
    text = compose(*DQN, "--metric", "efficiency", code=2)
    assert text == "watts must be known for metric efficiency, not empty for card0"
    devices, links, _ = write_machine(tmp_path)  # whose watts are given
    words = ["--devices", devices, "--links", links, "--overwrite", "--json"]
    own = json.loads(compose(*DQN, *words))["machine"]["devices"][0]
    assert (own["watts"], own["source"]) == (100, "given")


def test_from_python(measured, monkeypatch):
    found = rlfabric.compose("dqn", "CartPole-v1", profile=True, config={"batch_size": 64})
    assert found.folder.name == "compose-dqn-CartPole-v1" and found.picture == b"picture"
    assert found.plan["config"]["agent"]["batch_size"] == 64
    assert found.updates_per_second == found.plan["predicted"]["gps"] == 6250
    asked = []
    monkeypatch.setattr("rlfabric.plan.run", lambda config, **options: asked.append(config))
    with pytest.raises(AttributeError):  # of the result, which is None
        found.train(progress=False)
    assert asked[0].memory == "tree"
    with pytest.raises(UsageError, match="must be of this task"):
        rlfabric.compose("dqn", "CartPole-v1")


def test_the_length_of_a_profile_from_python(measured, monkeypatch):
    asked = []

    def told(plans, **options):
        asked.append(options)
        return fast(plans, **options)

    monkeypatch.setattr(composed.profile, "measured", told)
    rlfabric.compose("dqn", "CartPole-v1", profile=True, launches=7, board="u50")
    assert asked == [{"launches": 7, "card": "model", "board": "u50"}]


@pytest.mark.parametrize("words", [["--board", "u50"], ["--machine", "u50_host"]])
def test_a_run_has_the_board_of_the_plan(measured, monkeypatch, words):
    """Also that of a machine of the list."""
    asked = []
    monkeypatch.setattr(
        "host.runs.start_run.start", lambda config, **options: asked.append(options)
    )
    compose(*DQN, "--profile", "--run", *words)
    assert (
        asked[0]["board"] == "u50" and json.loads(compose(*DQN, "--json", *words))["board"] == "u50"
    )
    monkeypatch.setattr("rlfabric.plan.run", lambda config, **options: asked.append(options))
    board = dict(board="u50") if "--board" in words else dict(machine="u50_host")
    with pytest.raises(AttributeError):  # of the result, which is None
        rlfabric.compose("dqn", "CartPole-v1", **board).train(progress=False)
    assert asked[1]["board"] == "u50"


def test_a_gpu_by_a_stand_in(measured, monkeypatch):
    """Plans with a GPU are measured where torch sees one; the GPU here is a name."""
    monkeypatch.setattr("host.compose.machine_library._gpu", lambda: "a stand-in")
    monkeypatch.setattr(composed, "check_device", lambda name: None)
    found = json.loads(compose(*DQN, "--profile", "--json"))
    assert {"rm cpu, learner cuda", "rm card, learner cuda, kernel replay"} <= set(measured)
    gpu = found["machine"]["devices"][-1]
    assert (gpu["name"], gpu["kind"], gpu["source"]) == ("gpu0", "cuda", "detected: a stand-in")
    pairs = {(each["rm"], each["learner"]): each for each in found["alternatives"]}
    assert pairs["cpu0", "gpu0"]["source"] == "profile"
    assert pairs["cpu0", "gpu0"]["equation7_us"] == pytest.approx(
        20 + 300 + 10 + 2 * (10 + 128 / 12e3), abs=1e-3
    )  # and PCIe, twice
    assert {(each["rm"], each["learner"]) for each in found["refused"]} == {
        ("gpu0", each) for each in ("cpu0", "card0", "gpu0")
    }
