"""Which widths who gets: a user of the library whole results, HEPPO's memory its 8 bits."""

import pytest

import boards
from boards.memory import banks
from host.advantages.ppo import HEPPO, PPOConfig
from host.kernels import configure
from hw.designs import DESIGNS
from hw.gae.config import GaeConfig
from hw.gae.design import HEPPO_WIDTHS

GAE = DESIGNS["gae"]
EIGHT = {"code_width": 8, "result_width": 8}


def widths(gae):
    return {name: getattr(gae, name) for name in EIGHT}


def test_the_hardware_is_of_8_bits():
    """GaeConfig, what the benches count, and what is built for a board."""
    assert widths(GaeConfig()) == HEPPO_WIDTHS == EIGHT
    for board in boards.BOARDS.values():
        assert widths(GAE.default(board.numbers).gae) == EIGHT
        assert widths(configure(GAE, board, {}).gae) == EIGHT


def test_on_chip_memory_of_the_zcu106_is_counted_with_8_bits():
    board = boards.get("zcu106")
    description = GAE.describe(configure(GAE, board, {}))
    assert [bank.name for bank in banks(description, board)] == ["URAM"]


@pytest.mark.parametrize("board", boards.BOARDS)
def test_a_library_user_gets_whole_results(board):
    """Of a kernel that fits the board, and 8 bits for who asks for them."""
    for asked, expected in (({}, 32), ({"result_width": 8}, 8), ({"result_width": "16"}, 16)):
        gae = configure(GAE, boards.get(board), asked, library=True).gae
        assert widths(gae) == {"code_width": 8, "result_width": expected}


def test_heppos_experiments():
    """Table III: codes of 8 bits in the last three; results are whole words in all."""
    codes = {name: ways["code_width"] for name, ways in HEPPO.items()}
    assert codes == {"heppo1": 32, "heppo2": 32, "heppo3": 8, "heppo4": 8, "heppo5": 8}
    assert PPOConfig().result_width == 32
