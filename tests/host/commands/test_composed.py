"""``rlfabric compose`` with profiles: what it measures, chooses, prints, writes and runs."""

import json

import pytest
from typer.testing import CliRunner

import host.commands.composed as composed
import rlfabric
from host.commands.app import app
from host.commands.exits import report
from host.commands.request import request
from host.compose.profile import Profile
from hw.errors import MissingTool, UsageError

DQN = ["dqn", "--env", "CartPole-v1"]


def invoke(*words, code=0):
    found = CliRunner().invoke(app, ["compose", *(str(word) for word in words)])
    if code:
        assert report(found.exception) == code, found.exception
        return str(found.exception)
    assert found.exit_code == 0, (found.output, found.exception)
    return found.stdout


def fast(plans, card="model", board="u200", launches=400):
    """Profiles in which each further plan takes 100 us longer."""
    parts = {"environments": 100.0, "policy": 0.0, "packing": 0.0, "other": 0.0, "memory": 50.0}
    return {
        name: Profile(
            updates=each.updates_per_launch if hasattr(each, "updates_per_launch") else 4.0,
            parts=parts | {"device": 10.0, "learning": 100.0 * k},
            run=160 + 100.0 * k, p10=1.0, p50=2.0, p90=3.0,
        )
        for k, (name, (each, _)) in enumerate(plans.items())
    }  # fmt: skip


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Nothing is trained; the list of the plans that were measured."""
    names = []

    def told(plans, **options):
        names.extend(plans)
        assert options["launches"] in (400, 7)
        return fast(plans, **options)

    alone = {"sample_us": 20.0, "insert_us": 5.0, "update_us": 10.0}
    monkeypatch.setattr(composed.profile, "measured", told)
    monkeypatch.setattr(composed.primitives, "memory_us", lambda task, inserts: dict(alone))
    monkeypatch.setattr(composed.primitives, "learner_us", lambda task, device: 300.0)
    monkeypatch.setattr(composed.power, "meters", dict)
    monkeypatch.setattr("host.commands.composed.drawn_plans", lambda task, found: b"picture")
    monkeypatch.chdir(tmp_path)
    return names


def plan(path="runs/compose-dqn-CartPole-v1"):
    return json.loads((rlfabric.Path(path) / "plan.json").read_text())


def test_profile_and_plan(measured, tmp_path):
    printed = invoke(*DQN, "--profile")
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
    assert found["task"] == {"uniform": False, "steps_per_update": 32.0}
    pairs = [(each["rm"], each["learner"]) for each in found["alternatives"]]
    assert pairs == [(a, b) for a in ("cpu0", "card0") for b in ("cpu0", "card0")]
    # Equation 7: 20 + max(5, 10 + 300); the twin has no clock, and so no time.
    assert [each["equation7_us"] for each in found["alternatives"]] == [330, None, None, None]


def test_again_without_measuring_and_equal_bytes(measured, tmp_path):
    invoke(*DQN, "--profile")
    before = (tmp_path / "runs/compose-dqn-CartPole-v1/plan.json").read_bytes()
    measured.clear()
    again = invoke(*DQN, "--json")
    assert not measured and again.encode() == before
    assert str(tmp_path).encode() not in before


def test_a_card_of_a_board(measured, tmp_path):
    invoke(*DQN, "--profile")
    assert "the card takes" not in invoke(*DQN, "--board", "u200")  # the choice has none
    found = json.loads((tmp_path / "runs/compose-dqn-CartPole-v1/plan.json").read_text())
    assert found["board"] == "u200" and found["machine"]["devices"][1]["board"] == "u200"
    both = found["alternatives"][3]
    assert both["launch_clocks"] > 2000
    # The card overlaps: what binds is the interpreter, 100 + 50 + 300.
    assert both["iteration_us"] == 450 and both["equation7_us"] < 100
    assert all(each["equation7_us"] for each in found["alternatives"])


@pytest.mark.parametrize("machine", ["pearl_cgf", "u200_host", "u50_host", "zcu106"])
def test_machines_that_are_shipped(measured, machine):
    invoke(*DQN, "--profile")
    printed = invoke(*DQN, "--machine", machine)
    assert "choice: RM on " in printed and "software: times on " in printed
    assert ("time unknown, no profile" in printed) == (machine == "pearl_cgf")


def test_uniform_draws_have_a_ring_on_the_cpu(measured):
    found = json.loads(invoke(*DQN, "--profile", "--uniform", "--json"))
    assert found["config"]["memory"] == "ring" and found["task"]["uniform"]


def test_sizes_are_the_users(measured):
    found = json.loads(invoke(*DQN, "--profile", "--batch", 64, "--ratio", 8, "--json"))
    assert found["sizes"]["batch"] == 64 and found["sizes"]["inserts"] == 8
    assert found["config"]["agent"]["batch_size"] == 64
    assert found["config"]["updates_per_launch"] == 4


def test_designs_of_an_algorithm(measured):
    found = json.loads(invoke("ddpg", "--env", "Pendulum-v1", "--profile", "--json"))
    kernels = {each["kernel"] for each in found["alternatives"]}
    assert kernels == {"none", "replay", "ddpg", "fixar"}
    assert "rm card, learner card, kernel fixar" in measured


def test_rounds(measured):
    found = json.loads(invoke("a3c", "--env", "CartPole-v1", "--profile", "--json"))
    assert measured == ["learner cpu", "learner card, kernel a3c"]
    assert found["mapping"]["rm"] is None and found["mapping"]["learner"] == "cpu0"
    board = json.loads(invoke("a3c", "--env", "CartPole-v1", "--board", "u50", "--json"))
    assert board["alternatives"][1]["launch_clocks"] > 1000


def test_rollouts(measured):
    printed = invoke("ppo", "--env", "CartPole-v1", "--profile")
    assert measured == ["learner cpu, kernel gae"]
    assert "not learner on card0: the gradient steps of ppo must be on a cpu or cuda" in printed
    assert "choice: learner on cpu0, kernel gae" in printed


def test_train_takes_the_plan(measured, tmp_path):
    invoke(*DQN, "--profile", "--board", "u200", "--set", "kernel.lanes=4", "--ratio", 8)
    path = tmp_path / "runs/compose-dqn-CartPole-v1/plan.json"
    config, kernel = request("dqn", options={}, settings={}, file=path, board="u200")
    found = json.loads(path.read_text())
    assert json.loads(config.to_json()) == found["config"]
    assert found["kernel"] is None and kernel == {}


def test_train_takes_the_kernel_of_the_plan(measured, tmp_path, monkeypatch):
    monkeypatch.setattr(composed.profile, "measured", lambda plans, **_: {
        name: fast({name: each})[name] for name, each in plans.items() if "kernel dqn" in name
    })  # fmt: skip
    printed = invoke(*DQN, "--profile", "--board", "u200", "--set", "kernel.lanes=4")
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

    monkeypatch.setattr("host.train.run.start", start)
    found = CliRunner().invoke(app, ["compose", *DQN, "--profile", "--run", "--card", "model"])
    assert found.exit_code == 7
    [(config, options)] = asked
    assert (config.memory, config.learner, config.env) == ("tree", "cpu", "CartPole-v1")
    assert options == {"card": "model", "board": "u200", "kernel": {}}


def test_watts_of_the_profile(measured, monkeypatch):
    class Meter:
        def __init__(self):
            self.now = 0.0

        def joules(self):
            self.now += 50.0
            return self.now

    monkeypatch.setattr(composed.power, "meters", lambda: {"cpu": Meter()})
    found = json.loads(invoke(*DQN, "--profile", "--json"))
    cpu = found["machine"]["devices"][0]
    assert cpu["watts"] > 0 and cpu["source"].endswith("; watts of the profile")
    assert found["predicted"]["eps_per_watt"] == pytest.approx(200e3 / cpu["watts"], abs=1e-3)
    text = invoke(*DQN, "--metric", "efficiency", code=2)
    assert text == "watts must be known for metric efficiency, not empty for card0"


def test_without_torch_the_card_learns_alone(measured, monkeypatch):
    def missing(name):
        raise MissingTool("torch must be installed to train on the CPU, not missing")

    monkeypatch.setattr(composed, "check_device", missing)
    invoke(*DQN, "--profile")
    assert measured == ["rm cpu, learner card, kernel dqn", "rm card, learner card, kernel dqn"]


def test_a_machine_without_torch_and_without_a_learner_on_the_card(measured, monkeypatch):
    def missing(name):
        raise MissingTool("torch must be installed to train on the CPU, not missing")

    monkeypatch.setattr(composed, "check_device", missing)
    text = invoke("sac", "--env", "Pendulum-v1", "--profile", code=2)
    assert text == "a profile must have a plan that runs here, not none"


@pytest.mark.parametrize(
    "words, text",
    [
        ([], "profile.json must be a profile, not damaged or absent"),
        (["--inserts", 4], "inserts must be given with times, not without them"),
        (["--transfers", "added"], "transfers must be given with times, not without them"),
        (["--set", "learner=cpu"], "learner must be left to compose, not be set"),
        (["--set", "memory=ring"], "memory must be left to compose, not be set"),
        (["--profile", "--launches", 4], "launches must be an integer in 5..1048576, not 4"),
        (["--ratio", 12], "ratio must divide the 32 steps of a launch"),
        (["--machine", "mine"], "machine must be one of this, "),
        (["--board", "ulx3s"], "board must be one of u200, u50, zcu106, not 'ulx3s'"),
        (["--devices", "d.csv"], "links must be given with devices, not absent"),
    ],
)
def test_what_is_wrong_is_said(measured, words, text):
    assert text in invoke(*DQN, *words, code=2)


def test_options_of_a_profile_go_without_times(measured, tmp_path):
    for words, name in ((["--ratio", 8], "ratio"), (["--uniform"], "uniform"), (["--run"], "run"),
                        (["--profile"], "profile"), (["--set", "a=1"], "settings")):  # fmt: skip
        text = invoke("dqn", "--times", "times.csv", *words, code=2)
        assert text == f"{name} must be given without times, not with them"


def test_no_ratio_without_a_replay_memory(measured):
    for words in (["--ratio", 8], ["--uniform"]):
        text = invoke("ppo", *words, code=2)
        assert text == f"{words[0][2:]} must be without ppo, which has no replay memory"


def test_another_task_needs_another_profile(measured):
    invoke(*DQN, "--profile")
    text = invoke(*DQN, "--batch", 64, code=2)
    assert "profile.json must be of this task" in text and "batch_size 32, not 64" in text
    assert text.endswith("; measure one: the same command with --profile")


def test_the_metric(measured):
    invoke(*DQN, "--profile")
    assert "metric must be one of throughput, efficiency" in invoke(*DQN, "--metric", "x", code=2)


def test_from_python(measured, monkeypatch):
    found = rlfabric.compose("dqn", "CartPole-v1", profile=True, config={"batch_size": 64})
    assert found.folder.name == "compose-dqn-CartPole-v1" and found.picture == b"picture"
    assert found.plan["config"]["agent"]["batch_size"] == 64
    assert found.updates_per_second == found.plan["predicted"]["gps"] == 6250
    asked = []
    monkeypatch.setattr("rlfabric.composing.run", lambda config, **options: asked.append(config))
    with pytest.raises(AttributeError):  # of the result, which is None
        found.train(progress=False)
    assert asked[0].memory == "tree"
    with pytest.raises(UsageError, match="must be of this task"):
        rlfabric.compose("dqn", "CartPole-v1")


def test_a_gpu_by_a_stand_in(measured, monkeypatch):
    """Plans with a GPU are measured where torch sees one; the GPU here is a name."""
    monkeypatch.setattr("host.compose.shipped._gpu", lambda: "a stand-in")
    monkeypatch.setattr(composed, "check_device", lambda name: None)
    found = json.loads(invoke(*DQN, "--profile", "--json"))
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


def test_another_plan_in_a_folder_of_the_users(measured):
    invoke(*DQN, "--profile", "--launches", 7, "--out", "mine")
    invoke(*DQN, "--out", "mine")
    text = invoke(*DQN, "--out", "mine", "--board", "u200", code=2)
    assert text.startswith("out must have no other plan, not mine/plan.json")
    invoke(*DQN, "--out", "mine", "--board", "u200", "--overwrite")
    invoke(*DQN, "--profile")
    invoke(*DQN, "--board", "u200")  # a folder of rlfabric's own
