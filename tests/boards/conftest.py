"""A PATH of stand-ins."""

import shutil

import pytest

import boards
from tests.boards.tools import install


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """``tools(name="shell script", ...)``: a PATH of make, the shell's own, and these; the boards'
    platforms below ``platforms``."""
    for board in boards.BOARDS.values():
        if board.flow == "vitis":
            install(tmp_path / "platforms" / board.platform / f"{board.platform}.xpfm")
    monkeypatch.setenv("PLATFORM_REPO_PATHS", f"/none:{tmp_path / 'platforms'}")
    monkeypatch.delenv("XILINX_VITIS", raising=False)
    folder = tmp_path / "bin"
    folder.mkdir()
    shell = ("make", "sh", "mkdir", "cp", "cat", "cut", "grep", "rm", "sha256sum", "touch")
    for name in (*shell, "basename", "tclsh"):
        (folder / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(folder))

    def make(**scripts):
        for name, script in scripts.items():
            path = folder / name.replace("vpp", "v++")
            path.write_text(f'#!/bin/sh\necho "$(basename $0) $*" >> {tmp_path}/calls\n{script}\n')
            path.chmod(0o755)

    return make
