"""host.environments.environment_id: whoever registers an environment, its id is enough."""

import sys
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import pytest

from host.environments import environment_id
from host.environments.environment import has_continuous_actions
from host.environments.environment_id import (
    find_spec,
    missing_packages,
    namespace_of,
    reward_threshold,
)
from host.runs.preset import preset
from host.runs.replay_runs import OffPolicyConfig
from hw.extras import install

MODULE = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

gymnasium.register("{id}", entry_point=CartPoleEnv, max_episode_steps=20, reward_threshold=15)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """``module(name, id)`` writes a module that registers ``id`` when it is imported."""
    registered = set(gymnasium.registry)
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text=MODULE, **values):
        (tmp_path / f"{name}.py").write_text(text.format(**values) if values else text)

    yield write
    for name in set(gymnasium.registry) - registered:
        del gymnasium.registry[name]
    for name, each in list(sys.modules.items()):  # others, such as torch's, cannot come twice
        if str(getattr(each, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def test_a_module_that_has_moved_is_found():
    """An older run's config has the task's module as it was called then."""
    spec = find_spec("rlfabric.host.collect.task_ids:rlfabric/CartPole-v1")
    assert spec.id == "rlfabric/CartPole-v1"
    with pytest.raises(ValueError, match="must name a module"):
        find_spec("rlfabric.host.collect.tasks_ids:rlfabric/CartPole-v1")


def test_a_module_of_ones_own(module):
    module("my_cart", id="MyCart-v0")
    with pytest.raises(ValueError, match="^env must be the id of a registered .*, not 'MyCart-v0'"):
        find_spec("MyCart-v0")
    spec = find_spec("my_cart:MyCart-v0")
    assert spec.id == "MyCart-v0" and find_spec("my_cart:MyCart-v0") is spec
    assert reward_threshold("my_cart:MyCart-v0") == 15


def test_a_run_in_it_ends_well_resumes_and_keeps_a_policy(module, tmp_path):
    """Every place that uses the id: environments, evaluation, threshold, policy file, resume."""
    from fake_replay import FakeReplay
    from rich.console import Console

    from host.agents.policy_file import load_policy
    from host.runs.loop import train

    module("my_pole", id="mine/Pole-v3")
    config = dict(
        env="my_pole:mine/Pole-v3",
        steps=400,
        learning_starts=64,
        evaluation_interval_steps=200,
        evaluation_episodes=2,
        agent=dict(hidden=[8], batch_size=16),
    )
    out, console = tmp_path / "run", Console(quiet=True)
    summary = train(OffPolicyConfig.from_dict(config), FakeReplay, out=out, console=console).summary
    assert summary["reward_threshold"] == 15 and summary["mean_return"] <= 20
    longer = OffPolicyConfig.from_dict(config | {"steps": 800})
    again = train(longer, FakeReplay, out=out, resume=True, console=console).summary
    assert again["steps"] == 800
    assert load_policy(out / "best.npz")[1]["env"] == "my_pole:mine/Pole-v3"


def test_the_current_folder_is_on_the_path_only_meanwhile(module, tmp_path, monkeypatch):
    """host 16: also the class may be in a module of its own there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(tmp_path)])
    module("my_pole_class", "from gymnasium.envs.classic_control import CartPoleEnv as Pole\n")
    module(
        "my_pole",
        "import gymnasium\ngymnasium.register('Far-v0', entry_point='my_pole_class:Pole')\n",
    )
    before = list(sys.path)
    with closing(find_spec("my_pole:Far-v0").make()) as env:
        assert env.reset(seed=0)[0].shape == (4,)
    assert sys.path == before


def test_the_current_folder_is_the_last_place(module, tmp_path, monkeypatch):
    """A module that is installed is taken before a file that lies there; a folder that was on the
    path stays where it was."""
    module("my_cart", id="Installed-v0")
    here = tmp_path / "here"
    here.mkdir()
    (here / "my_cart.py").write_text(MODULE.format(id="Lies-v0"))
    monkeypatch.chdir(here)
    assert find_spec("my_cart:Installed-v0").id == "Installed-v0"
    module("my_pole", id="Pole-v0")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert find_spec("my_pole:Pole-v0").id == "Pole-v0"
    assert sys.path == before and str(tmp_path) in before


def test_modules_that_are_not_there():
    with pytest.raises(ValueError, match="^env must name a module that can .*, not 'nowhere:X-v0'"):
        find_spec("nowhere:X-v0")
    with pytest.raises(ValueError, match="^env must name a module that can .*, not 'os.no:X-v0'"):
        find_spec("os.no:X-v0")
    with pytest.raises(ValueError, match="^env must be the id .*, not 'os:X-v0'"):
        find_spec("os:X-v0")


@pytest.mark.parametrize(
    "env, meant",
    [
        ("CartPole", "CartPole-v1"),  # the newest of its versions
        ("cartpole-v1", "CartPole-v1"),
        ("Acrobt-v1", "Acrobot-v1"),
        ("MinAtar/Breakot-v1", "MinAtar/Breakout-v1"),
        ("here/loud", "Here/LOUD-v10"),  # as numbers: 10 is after 9
        ("here/loud-v9", "Here/LOUD-v9"),
        ("HERE/LUD-v10", "Here/LOUD-v10"),
    ],
)
def test_an_id_that_is_a_slip(env, meant, monkeypatch):
    """user, polish: "No registered env with id: CartPole"."""
    for name in ("Here/LOUD-v9", "Here/LOUD-v10"):
        monkeypatch.setitem(gymnasium.registry, name, gymnasium.spec("CartPole-v1"))
    with pytest.raises(
        ValueError, match=rf"^env must be the id .*, not '{env}' \(did you mean .*{meant}"
    ) as caught:
        find_spec(env)
    assert "-v" in env or " or " not in str(caught.value), "the newest alone"


@pytest.mark.parametrize("env, extra", [("LunarLander-v3", "box2d"), ("HalfCheetah-v5", "mujoco")])
def test_packages_of_gymnasiums_own_environments(env, extra, monkeypatch):
    """user, polish: gymnasium's unpinned line, where doctor knows ours."""

    def make(*_, **__):
        raise gymnasium.error.DependencyNotInstalled("run `pip install swig`")

    monkeypatch.setattr(gymnasium, "make", make)
    words = rf"^env must have its packages installed, not '{env}' \(pip install .*{extra}"
    with pytest.raises(ValueError, match=words) as caught:
        has_continuous_actions(env)
    assert install(extra) in str(caught.value) and "swig" not in str(caught.value)


def test_what_others_lack_is_theirs_to_say(module):
    """However much their folder is called like one of gymnasium's; and not before it is made."""
    text = "import gymnasium\ngymnasium.register('Own-v0', entry_point='box2d_of_mine:Pole')\n"
    module("my_own", text)
    assert find_spec("my_own:Own-v0").entry_point == "box2d_of_mine:Pole"
    assert missing_packages("Own-v0", LookupError("no engine")) == "no engine"


def test_a_bug_in_the_module_is_not_hidden(module):
    for missing in ("a_package_that_is_missing", "brok"):
        module("broken", f"import {missing}\n")
        with pytest.raises(ModuleNotFoundError, match=f"'{missing}'"):
            find_spec("broken:X-v0")
    module("faulty", "raise ValueError('of its own')\n")
    with pytest.raises(ValueError, match="^of its own$"):
        find_spec("faulty:X-v0")


def test_namespaces_of_known_packages(module, monkeypatch):
    """Atari's module registers them when it is imported."""
    with pytest.raises(ValueError, match="not 'Blocks/Fall-v1' .*Namespace Blocks not found"):
        find_spec("Blocks/Fall-v1")
    module("blocks", id="Blocks/Fall-v1")
    monkeypatch.setattr(environment_id, "_MODULES", {"Blocks": "blocks", "Gone": "gone_from_here"})
    for _ in range(2):  # the second time it is there
        assert find_spec("Blocks/Fall-v1").id == "Blocks/Fall-v1"
    for name in ("Gone/X-v1", "Blocks/Rise-v1"):
        with pytest.raises(ValueError, match=f"^env must be the id .*, not '{name}'"):
            find_spec(name)


def test_namespaces_of_ids():
    """The games that ale-py registers without one, and nothing that is called nearly so."""
    found = {
        "PongNoFrameskip-v4": "ALE",
        "ale_py:PongNoFrameskip-v0": "ALE",
        "PongNoFrameskip-v5": "",
        "PongNoFrameskip-v40": "",
        "mine/PongNoFrameskip-v4": "mine",
        "my.module:a/b/X-v0": "a/b",
        "CartPole-v1": "",
    }
    assert {env: namespace_of(env) for env in found} == found


def test_a_threshold_of_zero_is_one(monkeypatch):
    spec = replace(gymnasium.spec("CartPole-v1"), id="Pendulum-v1", reward_threshold=0.0)
    monkeypatch.setitem(gymnasium.registry, "Pendulum-v1", spec)
    assert reward_threshold("Pendulum-v1") == 0


def test_namespaces_of_entry_points(module, monkeypatch):
    asked = []

    def plugin(name):
        def register():
            asked.append(name)
            gymnasium.register(f"{name}/Env-v0", entry_point="x:y")

        return SimpleNamespace(name=name, load=lambda: register)

    def entry_points(group):
        assert group == "gymnasium.envs"
        return [plugin("Other"), plugin("Plugged")]

    monkeypatch.setattr(environment_id, "entry_points", entry_points)
    assert find_spec("Plugged/Env-v0").entry_point == "x:y" and asked == ["Plugged"]
    find_spec("Plugged/Env-v0")
    find_spec("CartPole-v1")
    assert asked == ["Plugged"], "nobody is asked for what is there"
    monkeypatch.setattr(environment_id, "entry_points", lambda group: [plugin("__root__")])
    with pytest.raises(ValueError, match="^env must be the id"):
        find_spec("Fourth/Env-v0")
    assert asked == ["Plugged", "__root__"], "who registers whatever he likes"


@pytest.mark.parametrize(
    "env, extra",
    [("ALE/Pong-v5", "atari"), ("PongNoFrameskip-v4", "atari"), ("MinAtar/Foo-v1", "minatar")],
)
def test_an_extra_that_is_not_installed_is_named(monkeypatch, env, extra):
    namespace = namespace_of(env)
    others = {
        n: spec for n, spec in gymnasium.registry.items() if namespace_of(spec.id) != namespace
    }
    monkeypatch.setattr(gymnasium.envs.registration, "registry", others)
    monkeypatch.setattr(gymnasium, "registry", others)
    monkeypatch.setattr(environment_id, "_MODULES", {})
    monkeypatch.setattr(environment_id, "entry_points", lambda group: [])
    with pytest.raises(ValueError, match=rf"not '{env}' \(pip install .*\[{extra}\]' has it\)$"):
        find_spec(env)


@pytest.mark.parametrize("env", ["ALE/Pong-v4", "ALE/Pang-v5", "MinAtar/Breakout-v7"])
def test_ids_that_known_packages_do_not_have(env):
    with pytest.raises(ValueError, match=f"^env must be the id .*, not '{env}'") as failure:
        find_spec(env)
    assert "pip install" not in str(failure.value)


def test_what_is_known_of_an_environment_is_known_with_its_module():
    name = "gymnasium.envs.classic_control:Pendulum-v1"
    assert reward_threshold(name) == reward_threshold("Pendulum-v1") == -200
    assert preset("ppo", "cpu", env=name).agent == preset("ppo", "cpu", env="Pendulum-v1").agent
