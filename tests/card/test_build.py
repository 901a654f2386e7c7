"""sim.verilate: once per content, whole or not at all, with the tools' own words on failure."""

import threading
import time

import pytest
from card.copy_kernel import CopyConfig, describe, generate

from hw.errors import MissingTool
from sim import verilate as module
from sim.card.build import build
from sim.verilate import BuildError
from system import tools
from system.cache import DIGESTS


@pytest.fixture
def kernel(tmp_path):
    path = generate(tmp_path)
    return describe(CopyConfig()), (path.parent / "copy.v").read_text()


def test_cached_by_content(kernel, monkeypatch):
    description, verilog = kernel
    first = build(description, verilog)

    def refuse(*_):
        raise LookupError("built again")

    monkeypatch.setattr(module, "_build", refuse)
    assert build(description, verilog) == first
    with pytest.raises(LookupError):
        build(description, verilog + "\n// other")
    with pytest.raises(LookupError):
        build(describe(CopyConfig(storage=True)), verilog)


def test_one_build_for_all_who_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BUILD_DIRECTORY", tmp_path)
    made = []

    def make(work):
        made.append(work)
        time.sleep(0.2)
        (work / "out" / "file").write_text("x")

    threads = [
        threading.Thread(target=module.built_once, args=("k", "same", make)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert len(made) == 1
    assert (module.built_once("k", "same", make) / "file").read_text() == "x"
    assert module.built_once("k", "other", make) != module.built_once("k", "same", make)


def test_interrupted_build_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BUILD_DIRECTORY", tmp_path)

    def interrupted(work):
        (work / "out" / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        module.built_once("k", 1, interrupted)
    assert all(path.name.endswith(".lock") for path in tmp_path.iterdir())
    built = module.built_once("k", 1, lambda work: (work / "out" / "whole").touch())
    assert {path.name for path in built.iterdir()} == {"whole", DIGESTS}


def test_j_damaged_library_is_built_again_also_where_paths_have_spaces(
    kernel, tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr(module, "BUILD_DIRECTORY", tmp_path / "a folder")
    compile_all = module.compiled

    def compile_little(work, units, *flags):
        (work / "empty.cpp").touch()
        return compile_all(work, [("-O0", "empty.cpp")], *flags)

    monkeypatch.setattr(module, "compiled", compile_little)
    library = build(*kernel)
    whole = library.read_bytes()
    assert "compiling kernel copy with Verilator" in capfd.readouterr().err

    # J: it is damaged by a loss of power, and the next run makes it again.
    library.write_bytes(whole[:-1])
    assert build(*kernel).read_bytes() == whole
    assert "is made again, for it is damaged" in capfd.readouterr().err


def test_refused_verilog_shows_the_message(kernel):
    with pytest.raises(BuildError, match="(?s)verilator must accept its input.*syntax error"):
        build(kernel[0], "module copy(; endmodule")


def test_missing_tool_is_named(kernel, monkeypatch):
    monkeypatch.setattr(tools, "tool_environment", lambda: {"PATH": ""})
    with pytest.raises(MissingTool, match="must be installed"):
        build(*kernel)
