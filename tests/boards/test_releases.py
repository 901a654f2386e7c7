"""Releases of the vendor's tools: read from what they print, and which of them fit."""

import pytest

import boards
from boards import bitstream
from boards.xilinx.releases import XRT, fitting, release_of
from tests.boards.vendor import described


@pytest.mark.parametrize(
    "text, release",
    [
        ("****** v++ v2022.2 (64-bit)\n  **** SW Build 3671529", "2022.2"),
        ("Vivado v2020.2.1 (64-bit)", "2020.2"),
        ("vivado v2023.2 (64-bit)", "2023.2"),
        ("Verilator 5.048", None),
    ],
)
def test_release_of(text, release):
    assert release_of(text) == release


def test_releases_that_fit_are_of_the_table():
    u200, u50 = boards.get("u200"), boards.get("u50")
    assert (fitting(u200)[0], fitting(u200)[-1]) == ("2021.2", "2025.1")
    assert (fitting(u50)[0], fitting(u50)[-1]) == ("2022.1", max(XRT))
    assert list(XRT) == sorted(XRT)
    assert "| 2022.2 | 2.14 |" in bitstream.files(described("replay", "u200"), u200)["README.md"]
