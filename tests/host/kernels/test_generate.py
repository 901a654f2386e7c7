"""What `rlfabric verilog` writes, over a stub design."""

import json
import subprocess
import sys

import pytest

import boards
from host.kernels import configure, generate
from host.kernels.lint import WAIVERS, LintError, lint_directory
from hw.estimate import Estimate
from hw.shell.description import KernelDescription
from tests.host.stub_designs import StubConfig, StubDesign

FILES = {"stub.v", "kernel.json", "config.json", "registers.md", "lint.vlt", "manifest.json"}


@pytest.fixture(autouse=True)
def designs(monkeypatch):
    known = {"stub": StubDesign(), "huge": StubDesign(uram_leaves=100)}
    monkeypatch.setattr("host.kernels.DESIGNS", known)


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_writes_every_file_and_nothing_else(tmp_path):
    directory = generate("stub", "u200", tmp_path, capacity=4096)
    assert directory == tmp_path / "u200" / "stub"
    assert set(contents(directory)) == FILES
    description = KernelDescription.from_json((directory / "kernel.json").read_text())
    assert description.config["capacity"] == 4096
    assert description.config["data_width"] == 512
    config = json.loads((directory / "config.json").read_text())
    assert StubConfig(**{**config["config"], "read": None, "write": None}).capacity == 4096
    hash_text = f"{description.config_hash:#018x}"
    manifest = json.loads((directory / "manifest.json").read_text())
    assert config["config_hash"] == manifest["config_hash"] == hash_text
    assert hash_text in (directory / "stub.v").read_text().splitlines()[0]
    assert set(manifest["sha256"]) == FILES - {"manifest.json"}


def test_board_numbers_reach_the_design(tmp_path):
    directory = generate("stub", "zcu106", tmp_path)
    assert json.loads((directory / "kernel.json").read_text())["masters"][0]["data_width"] == 128


def test_equal_inputs_give_equal_bytes_anywhere(tmp_path):
    first = contents(generate("stub", "u50", tmp_path / "a"))
    script = (
        "import sys; from host import kernels; from tests.host.stub_designs import StubDesign\n"
        "kernels.DESIGNS = {'stub': StubDesign()}; kernels.generate('stub', 'u50', sys.argv[1])"
    )
    for seed in "1", "2":
        out = tmp_path / f"process {seed}"
        subprocess.run(
            [sys.executable, "-c", script, str(out)],
            check=True,
            timeout=120,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
        assert contents(out / "u50" / "stub") == first
    assert not any(str(tmp_path).encode() in data for data in first.values())
    changed = contents(generate("stub", "u50", tmp_path / "a", fanout=8))
    assert changed["manifest.json"] != first["manifest.json"]


def test_document_shows_every_table(tmp_path):
    text = (generate("stub", "u200", tmp_path) / "registers.md").read_text()
    assert text.startswith("# stub on Alveo U200, rlfabric ")
    for row in (
        "| 0x00 | `CTRL` |",
        "| 0 | `program` | 0x010 | 8 | buffer, read through `m_axi_host` |",
        "| 4 | `storage` | 0x040 | 8 | buffer, read and written through `m_axi_storage` |",
        "| 3 | `status` | 0x034 | 8 | buffer, written through `m_axi_host` |",
        "| 5 | `command_count` | 0x04c | 4 | commands |",
        "| 6 | `program_bytes` | 0x054 | 4 | bytes of `program` |",
        "| 10 | `storage_pages` | 0x074 | 4 | pages of 4096 bytes of `storage` |",
        "| `m_axi_storage` | 512 | 64 | read and written | `storage` |",
        "give sizes in whole beats",
        "The pointer is a multiple of 64.",
        "pages of 4096 (`<name>_pages`)",
        "the command ends with `axi`, whatever other error it has",
        "`ap_rst_n` may come only while no burst is under way",
        "## Stub commands",
        "| 0x10 | `value` | u32 | 1..1024 | what to write |",
        "### Status",
        "| 16 | `odd` | an odd number |",
        "| `read.depth` | `8` |",
    ):
        assert row in text, row
    assert "## Schedule" not in text


def test_document_has_the_schedule_of_a_design(tmp_path):
    text = (generate("stub", "u200", tmp_path, capacity=4096) / "registers.md").read_text()
    assert "\n## Schedule\n\nA picture.\n\n## Status block\n" in text


def test_lint_passes_with_the_waivers_and_not_without(tmp_path):
    directory = generate("stub", "u200", tmp_path)
    lint_directory(directory)
    waivers = (directory / "lint.vlt").read_text()
    (directory / "lint.vlt").write_text("`verilator_config\n")
    with pytest.raises(LintError, match="stub.v must be clean under verilator"):
        lint_directory(directory)
    # One rule and one reason a waiver, each reason on the line above its rule.
    lines = waivers.splitlines()[1:]
    assert len(lines) == 2 * len(WAIVERS)
    assert all(line.startswith("// ") for line in lines[::2])
    assert all(line.startswith("lint_off -rule ") for line in lines[1::2])


def test_lint_still_finds_what_is_not_waived(tmp_path):
    directory = generate("stub", "u200", tmp_path)
    verilog = directory / "stub.v"
    text = verilog.read_text()
    assert text.count("endmodule") >= 1
    verilog.write_text(text.replace("endmodule", "wire [3:0] n; assign n = 8'd200; endmodule", 1))
    with pytest.raises(LintError, match="WIDTHTRUNC"):
        lint_directory(directory)


def test_unknown_names():
    with pytest.raises(ValueError, match="design must be one of stub, huge, not 'none'"):
        generate("none", "u200", "unused")
    with pytest.raises(ValueError, match="board must be one of u200, .*, not 'none'"):
        generate("stub", "none", "unused")


def test_an_unknown_need_is_said(tmp_path, monkeypatch, capsys):
    """Files are written, but not as if the kernel had been found to fit."""
    generate("stub", "ulx3s", tmp_path)
    assert "unknown" not in capsys.readouterr().err
    need = Estimate(lut=1, ff=1, bram36=0, uram=0)
    monkeypatch.setattr(StubDesign, "estimate", lambda self, config: need)
    for board, unknown in (("u200", "dsp"), ("ulx3s", "lut, ff, bram36, uram, dsp")):
        generate("stub", board, tmp_path)
        title = boards.get(board).title
        said = f"rlfabric: {unknown} of stub on {title} unknown: it may not fit\n"
        assert said in capsys.readouterr().err


def test_what_is_unknown_is_no_hint(monkeypatch):
    """A lower bound refuses; a smaller capacity, which it does not refuse, may not fit either."""
    known = dict(lut=0, ff=0, bram36=0, uram=0)
    monkeypatch.setattr(
        StubDesign, "estimate", lambda self, config: Estimate(**known, dsp=config.capacity)
    )
    refusal = r"^dsp must be at most 132 on .*, not 256 or more; nothing smaller of stub is known"
    with pytest.raises(boards.DoesNotFit, match=refusal):
        configure(StubDesign(), boards.get("ulx3s"), {"capacity": 256})
    with pytest.raises(boards.DoesNotFit, match=r"not 10000; capacity \d+ fits"):
        configure(StubDesign(), boards.get("u50"), {"capacity": 10_000})


def test_a_config_is_estimated_once(tmp_path, monkeypatch):
    """Where files are written, and of what a refusal tries."""
    estimated = []

    def estimate(self, config):
        estimated.append(config)
        return Estimate(lut=0, ff=0, bram36=0, uram=0, dsp=config.capacity)

    monkeypatch.setattr(StubDesign, "estimate", estimate)
    generate("stub", "u200", tmp_path)
    assert len(estimated) == 1
    estimated.clear()
    with pytest.raises(boards.DoesNotFit, match=r"not 10000; capacity \d+ fits"):
        configure(StubDesign(), boards.get("u50"), {"capacity": 10_000})
    assert len(estimated) == len(set(estimated)) > 10


def test_nothing_is_written_for_what_does_not_fit(tmp_path):
    with pytest.raises(boards.DoesNotFit) as error:
        generate("stub", "zcu106", tmp_path, capacity=2**26)
    assert str(error.value) == (
        "capacity must be at most 33554432 on ZCU106 "
        "(buffer storage in bank DDR_HIGH of 2147483648 bytes, 64 bytes each), not 67108864; "
        "capacity 33554432 fits"
    )
    with pytest.raises(boards.DoesNotFit) as error:
        generate("huge", "u200", tmp_path, capacity=64_001)
    assert str(error.value) == (
        "uram must be at most 640 on Alveo U200 (the usable share), not 641; capacity 64000 fits"
    )
    with pytest.raises(boards.DoesNotFit) as error:  # 0 UltraRAM: no capacity helps
        generate("huge", "ulx3s", tmp_path)
    assert str(error.value).endswith(
        "(the usable share), not 11; nothing smaller of stub is known that fits ULX3S-85F"
    )
    assert not list(tmp_path.iterdir())
    generate("huge", "u200", tmp_path, capacity=64_000)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"depth": 1}, "depth must be one of read.depth, write.depth, not several"),
        ({"reading": 1}, r"reading must be the name of a field, not unknown \(there are data_w"),
        ({"capacity": "many"}, "capacity must be of type int, not 'many'"),
        ({"fast": "maybe"}, "fast must be of type bool, not 'maybe'"),
        ({"capacity": 3}, "capacity must be an integer in 16..*, not 3"),
    ],
)
def test_settings_that_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        configure(StubDesign(), boards.get("u200"), values)
