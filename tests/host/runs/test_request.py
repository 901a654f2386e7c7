"""host.runs.request: options, --set and --config together are the config of a run."""

import json
from dataclasses import replace

import pytest

import boards
from host.agents.registry import ALGORITHMS
from host.cli.run_kernel import of_run
from host.kernels import configure, find_design
from host.runs.preset import preset
from host.runs.replay_runs import OffPolicyConfig
from host.runs.request import request

U200 = boards.get("u200")


def asked(
    algo="dqn", *, settings=(), file=None, preset_name=None, board=None, imports=(), **options
):
    how = dict(file=file, preset_name=preset_name, board=board, imports=imports)
    return request(algo, options=options, settings=dict(settings), **how)


@pytest.fixture
def write(tmp_path):
    def call(value):
        path = tmp_path / "asked.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    return call


@pytest.mark.parametrize("algo, learner", [("dqn", "card"), ("ddpg", "card"), ("ppo", "cpu")])
def test_the_card_learns_where_it_can(algo, learner):
    config, kernel = asked(algo, learner=None, env=None)
    assert config == preset(algo, learner) and kernel == {}
    assert asked(algo, learner="cpu")[0] == preset(algo, "cpu")
    if algo != "ppo":
        assert asked(algo, settings={"learner": "cpu"})[0] == preset(algo, "cpu")


@pytest.mark.parametrize("algo", ["ddpg", "td3"])
def test_a_limited_norm_is_the_kernels_too(algo):
    config, kernel = asked(algo, learner="card", settings={"max_gradient_norm": "1.5"})
    assert config.agent.max_gradient_norm == 1.5 and kernel == {}
    assert config.kernel_values()["learner.clip_norm"] is True
    assert asked(algo, learner="card")[0].kernel_values()["learner.clip_norm"] is False


@pytest.mark.parametrize("env", ["MinAtar/Breakout-v1", "ALE/Pong-v5"])
def test_images_pick_the_learner_that_takes_them(env, capsys):
    """user D7: README's own line was refused, with learner card by default."""
    for how in ({"env": env}, {"settings": {"env": env}}):
        assert asked(**how)[0] == preset("dqn", "cpu", None, env)
        assert f"learner cpu, since {env} gives images" in capsys.readouterr().err
    assert asked(env=env, learner="card")[0].learner == "card"  # refused later, with the reason
    assert asked("a3c", env=env)[0].learner == "card"
    assert asked(env="Acrobot-v1")[0].learner == "card"
    assert capsys.readouterr().err == ""


def test_the_environment_decides_defaults_wherever_it_is_named(write):
    expected = preset("ppo", "cpu", "heppo3", "Pendulum-v1")
    assert asked("ppo", env="Pendulum-v1", preset_name="heppo3")[0] == expected
    named = {"env": "Pendulum-v1"}
    assert asked("ppo", settings=named, preset_name="heppo3")[0] == expected
    assert asked("ppo", file=write(named), preset_name="heppo3")[0] == expected


def test_settings():
    settings = {"gamma": "0.5", "hidden": "8", "seed": "9", "kernel.lanes": "2"}
    config, kernel = asked(steps=7, settings=settings)
    assert (config.agent.gamma, config.agent.hidden, config.seed, config.steps) == (0.5, (8,), 9, 7)
    assert kernel == {"lanes": "2"}


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_field_of_the_agent_has_two_names(algo):
    default, _ = asked(algo)
    for name in ("hidden", "agent.hidden"):
        config, _ = asked(algo, settings={name: "8,4"})
        assert config == replace(default, agent=replace(default.agent, hidden=(8, 4)))
    with pytest.raises(ValueError, match="^agent.gamma must be in .0, 1., not 2.0$"):
        asked(algo, settings={"agent.gamma": "2"})


@pytest.mark.parametrize("name, value", [("seed", 1), ("env", "X-v0"), ("until_solved", True)])
def test_nothing_loses_in_silence(name, value):
    option = name.replace("_", "-")
    with pytest.raises(ValueError, match=f"^{name} must be given once, not by --{option} and by"):
        asked(**{name: value}, settings={name: "1"})


@pytest.mark.parametrize("nested", [False, True])
def test_a_module_that_a_file_names_is_not_imported_unasked(write, nested, monkeypatch):
    """host 15: --config and --for-run may be given a stranger's file."""
    env = "gymnasium.envs.classic_control:Acrobot-v1"
    config = preset("dqn", "cpu").to_dict() | {"env": env}
    file = write({"config": config} if nested else {"env": env})
    with pytest.raises(ValueError, match="^--import must name gymnasium.envs.classic_control: "):
        asked(file=file)
    module, _ = env.split(":")
    assert asked(file=file, imports=[module])[0].env == env
    assert asked(file=file, env=env)[0].env == env  # it is named by the user too
    if nested:
        with pytest.raises(ValueError, match="^--import must name "):
            of_run(file, "replay", "u200", {})
        of_run(file, "replay", "u200", {}, [module])


def test_a_summary_is_taken_back(write):
    config = OffPolicyConfig.from_dict(
        dict(seed=3, steps=500, agent=dict(hidden=[8, 9], gamma=0.7))
    )
    file = write({"env": "CartPole-v1", "mean_return": 3.5, "config": config.to_dict()})
    assert asked(file=file) == (config, {})
    changed, _ = asked(file=file, seed=4, settings={"gamma": "0.5"})
    assert (changed.seed, changed.agent.gamma, changed.agent.hidden) == (4, 0.5, (8, 9))
    assert asked(file=file, learner="card", settings={"max_gradient_norm": "none"})[0].learner


def test_a_summary_brings_its_kernel(write, tmp_path):
    """All that was set of it, and what the new run sets instead; nothing that the run decides."""
    settings = {"hidden": "8,6", "batch_size": "16", "capacity": "256", "learning_starts": "64"}
    wanted = {"kernel.lanes": "1", "kernel.kind": "fixed", "kernel.weight.fraction": "20"}
    config, kernel = asked(settings=settings | wanted)
    values = config.kernel_values() | kernel
    description = find_design("dqn").describe(configure(find_design("dqn"), U200, values))
    summary = {"config": config.to_dict(), "kernel": {"name": "dqn", "config": description.config}}
    file = write(json.loads(json.dumps(summary)))
    again, kernel = asked(file=file, board="u200")
    assert again == config
    names = ("lanes", "arithmetic.kind", "arithmetic.weight.fraction")
    expected = dict(zip(names, (1, "fixed", 20), strict=True))
    assert kernel == {f"learner.{name}": value for name, value in expected.items()}
    other, kernel = asked(file=file, board="u200", settings={"kernel.lanes": "4", "capacity": "99"})
    rebuilt = configure(find_design("dqn"), U200, other.kernel_values() | kernel)
    assert (rebuilt.learner.lanes, rebuilt.replay.capacity) == (4, 99)
    assert rebuilt.learner.arithmetic.kind == "fixed"
    assert asked(file=file)[1] == {}, "a real card has the kernel that it has"
    cpu = {"learner": "cpu", "max_gradient_norm": "none"}
    assert asked(file=file, board="u200", settings=cpu)[1] == {}, "another kernel"


def test_a_file_of_fields(write):
    file = write({"gamma": 0.5, "agent": {"hidden": [4]}, "steps": "1e3", "kernel.lanes": 1})
    config, kernel = asked(file=file, settings={"kernel.lanes": "2"})
    assert (config.agent.gamma, config.agent.hidden, config.steps) == (0.5, (4,), 1000)
    assert kernel == {"lanes": "2"} and config.learner == "card"
    assert asked(file=write({"kernel": {"lanes": 1}}))[1] == {"lanes": 1}


def test_a_threshold_is_a_reason_to_stop():
    config, _ = asked(threshold=90.0)
    assert config.threshold == 90 and config.until_solved
    assert not asked()[0].until_solved
    assert not asked(threshold=90.0, settings={"until_solved": "false"})[0].until_solved
    with pytest.raises(ValueError, match="^threshold must be given to stop when solved, for Cliff"):
        asked(env="CliffWalking-v1", until_solved=True)
    assert asked(env="CliffWalking-v1", threshold=-13.0)[0].until_solved


@pytest.mark.parametrize(
    "content, message",
    [
        ("{", "^--config must be a file of JSON, not .*asked.json"),
        ("[1]", "^--config must be a JSON object of fields, not the value in .*asked.json$"),
        ({"algo": "ppo"}, "^algo must be dqn, as ALGO is, not 'ppo'$"),
        ({"gamma": 2}, r"^gamma must be in \[0, 1\], not 2$"),
        ({"gama": 1}, r"^gama must be .* \(did you mean gamma\?\)$"),
    ],
)
def test_files_that_are_refused(write, content, message):
    with pytest.raises(ValueError, match=message):
        asked(file=write(content))


def test_what_is_refused(tmp_path):
    with pytest.raises(
        ValueError,
        match=r"^--config must be a file of JSON, not .*none.json \(No such file or directory\)$",
    ):
        asked(file=tmp_path / "none.json")
    with pytest.raises(
        ValueError, match="^ALGO must be one of dqn, ddpg, td3, sac, ppo, a3c, not 'a2c'$"
    ):
        asked("a2c")
    with pytest.raises(ValueError, match=r"not unknown \(`rlfabric show dqn` lists them\)$"):
        asked(settings={"warp": "1"})
