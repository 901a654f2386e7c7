"""Every template, with every text that a file or a user can set: it stays a text, or is refused."""

import ast
import re
import xml.etree.ElementTree as ET
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import boards
from boards import bitstream, templates
from boards.templates import Code, docstring, literal
from host.compose import program as composed
from hw.errors import UsageError
from tests.boards.vendor import described, small

ROOT = Path(__file__).parent.parent
HOSTILE = (
    *('"', "'", "\\", "\n", "$", "]", "`", "*/", "|", "</script>", '"""', "'''", "\r", "\x1b[2J"),
    *("$(id)", "`id`", "[exec id]", "{x}", "#", "; id", '"); import os #', "-->", "\\N{DASH}", "%"),
)
#: Each Jinja template of the boards and of the composer.
TEMPLATES = sorted(
    str(path.relative_to(ROOT)).removesuffix(".j2")
    for folder in ("boards", "host")
    for path in (ROOT / folder).rglob("*.j2")
)
FIELDS = ("title", "part", "platform", "unverified")


def strings_blank(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def structure(name, text):
    """What a text must not change."""
    if name.endswith(".py"):
        return strings_blank(ast.parse(text))
    if name.endswith(".xml"):
        return [(node.tag, sorted(node.keys())) for node in ET.fromstring(text.encode()).iter()]
    lines = text.split("\n")
    if name.endswith(".md"):
        return [(line.count("|"), line.count("`"), line.count("<")) for line in lines]
    # of scripts: all that is not a comment
    return [re.sub(r"\s*#.*", "#", line) for line in lines]


class Caught(dict):
    """``(package, name) -> values`` of each template that is rendered."""

    def render(self, package, name, **values):
        self.setdefault((package, name), values)
        return self.original(package, name, **values)

    original = staticmethod(templates.render)


@pytest.fixture(scope="module")
def caught():
    patch, found = pytest.MonkeyPatch(), Caught()
    for module in ("bitstream", "xilinx.vitis", "xilinx.vivado", "xilinx.kernel", "ulx3s.build"):
        patch.setattr(f"boards.{module}.render", found.render)
    try:
        for board in ("u50", "zcu106", "ulx3s"):
            bitstream.files(described("replay", board, **small("replay")), boards.get(board))
    finally:
        patch.undo()
    return found


def changed(values, hostile):
    """``(field, values)``, each with another text replaced by a hostile one."""
    for name, value in values.items():
        if isinstance(value, str) and not isinstance(value, Code):
            yield name, {**values, name: f"{value}{hostile}x"}
        if name == "board" and is_dataclass(value):
            for field in FIELDS:
                old = getattr(value, field)
                if isinstance(old, str) and not (field == "part" and "ulx3s" in value.name):
                    yield field, {**values, name: replace(value, **{field: f"{old}{hostile}x"})}


@pytest.mark.parametrize("hostile", HOSTILE, ids=repr)
def test_templates_of_boards(caught, hostile):
    assert len(caught) == 10
    for (package, name), values in caught.items():
        whole = structure(name, templates.render(package, name, **values))
        for field, other in changed(values, hostile):
            try:
                text = templates.render(package, name, **other)
            except UsageError as error:
                assert f"text in {name} must be without" in str(error), field
                continue
            if name.endswith((".tcl", "Makefile", ".cfg")):
                assert text.count("\n") == templates.render(package, name, **values).count("\n")
            else:
                assert structure(name, text) == whole, (name, field)


@pytest.mark.parametrize("name", [".py", ".tcl", "Makefile", ".cfg"])
def test_scripts_refuse_what_is_not_a_text(name):
    passed = templates._filter(f"x{name}")
    assert passed("dqn on Alveo U50, rlfabric 0.1.0: a.b-c/d") and passed(7) == 7
    assert passed(Code('"x"')) == '"x"'
    for char in {
        ".py": "\"'\\{}",
        ".tcl": '"\\$[]{};',
        "Makefile": "\"'\\$#`;|&",
        ".cfg": "\"'\\$#",
    }[name]:
        with pytest.raises(UsageError, match=f"^text in x{name} must be without "):
            passed(f"a{char}b")
    for char in "\n\r\t\0\x1b":
        with pytest.raises(UsageError):
            passed(f"a{char}b")


@pytest.mark.parametrize("hostile", HOSTILE, ids=repr)
def test_literals_and_docstrings(hostile):
    for text in (hostile, f"a{hostile}", f"{hostile}{hostile}b", f"{hostile}\ud800"):
        assert ast.literal_eval(literal(text)) == text
        assert literal(text).isprintable()
    for text in (hostile, f"a{hostile}", f"a{hostile}\nb"):
        wanted = templates._printable("\n".join(text.splitlines()).replace("\n", " "))
        for end in ("\n", ""):  # the quotes that end it may follow at once
            (node,) = ast.parse(f'"""{docstring(text)}{end}"""\n').body
            assert node.value.value.replace("\n", " ").rstrip() == wanted.rstrip()


@pytest.fixture(scope="module")
def plan():
    """Of a composition, what its templates show."""
    device = dict(name="cpu0", source="x")
    return {
        "version": "0", "hash": "0123", "config": {"algo": "dqn", "env": "E-v0", "actors": 0},
        "mapping": {"rm": "cpu0", "learner": "card0", "act": "cpu0", "setting": 1},
        "predicted": {"iteration_us": 1.0, "gps": 1.0, "bound_by": "learner"},
        "profile": {"processor": "x", "cores": 2}, "kernel": {"name": "dqn"},
        "machine": {"devices": [device]}, "proof": "x",
    }  # fmt: skip


PLACES = {
    "algo": lambda plan, text: plan["config"].update(algo=text),
    "env": lambda plan, text: plan["config"].update(env=text),
    "rm": lambda plan, text: plan["mapping"].update(rm=text),
    "learner": lambda plan, text: plan["mapping"].update(learner=text),
    "act": lambda plan, text: plan["mapping"].update(act=text),
    "processor": lambda plan, text: plan["profile"].update(processor=text),
    "source": lambda plan, text: plan["machine"].update(devices=[dict(name="cpu0", source=text)]),
    "bound_by": lambda plan, text: plan["predicted"].update(bound_by=text),
    "proof": lambda plan, text: plan.update(proof=text),
}


def readme(plan):
    values = dict(title=composed._title(plan), plan=plan, kernel="kernels/x.json", board="u50")
    values["proof"] = plan["proof"]
    return templates.render("host.compose", "README.md", **values)


@pytest.mark.parametrize("place", PLACES)
def test_the_readme_of_a_program(plan, place):
    whole = structure("README.md", readme(plan))
    for hostile in HOSTILE:
        other = {
            name: dict(each) if isinstance(each, dict) else each for name, each in plan.items()
        }
        PLACES[place](other, f"a{hostile}b")
        assert structure("README.md", readme(other)) == whole, hostile


@pytest.mark.parametrize("field", ["algo", "device", "act", "proof"])
def test_a_program(field):
    """Texts of the plan are literals or in the docstring."""

    def rendered(text):
        values = {"algo": "dqn", "device": "cpu", "act": "cpu0", "proof": "x"} | {field: text}
        title = f"{values['algo']} on E-v0: learner on x, actors on {values['act']}."
        config = SimpleNamespace(
            env_count=1, steps_per_launch=1, actors=0, device=values["device"], steps=1, seed=0,
            evaluation_interval_steps=1, evaluation_episodes=1, evaluation_steps=1,
        )  # fmt: skip
        names = Code(f"ALGORITHM, ENV = rl.algorithm({literal(values['algo'])}), 'E-v0'")
        told = dict(agent=Code("dict()"), hash="0", version="0", on_card=False, threshold=None)
        told |= dict(title=docstring(title), names=names, config=config, fixed="", several=False)
        told |= dict(kernel="k/x")
        told["proof"] = composed._wrapped(values["proof"])
        return composed._rendered("rollouts.py", **told)

    whole = structure(".py", rendered("x"))
    for hostile in HOSTILE:
        assert structure(".py", rendered(f"a{hostile}b")) == whole, hostile


def test_the_templates_are_these():
    assert {name.rpartition("/")[2] for name in TEMPLATES} == {
        *("smoke.py", "README.md", "kernel.xml", "Makefile", "package.tcl", "link.cfg", "ip.tcl"),
        *("build.tcl", "README.vivado.md", "README.vitis.md", "rollouts.py", "program.py"),
        *("replay.py", "rounds.py"),
        *("policy.c", "policy.h"),  # tests/host/export has theirs
    }
