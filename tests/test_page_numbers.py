"""Numbers in prose are in rows, in formulas of today or in the ledger, which says where from."""

import pytest
from page_numbers import differences, in_rows, ledger, numbers, order, ordered, orders, pages, prose

from bench import pages as printed
from bench.fixar.cycles import config_of
from host.compose.card_clocks import kernel_config, plan_clocks
from host.compose.plans import plan_of
from host.compose.task import Task
from host.runs.preset import preset
from hw.fixar.pass_clocks import iteration_cycles
from hw.fixar.precision import Precision

TEXTS = pages()


def launch_of_dqn():
    task = Task(preset("dqn", "card", env="CartPole-v1"), False, {})
    plan = plan_of(task, "card", "card")
    return plan_clocks(task, plan, kernel_config(task, plan, "u200"), 1, 1)


def iteration_of(cores):
    return iteration_cycles(config_of("HalfCheetah", cores=cores), 64, Precision())


#: (page, number) -> what the number is, worked out now.
FORMULAS = {
    ("docs/composer.md", "5591"): launch_of_dqn,
    ("docs/explorer.md", "88083"): lambda: iteration_of(4),
    ("docs/explorer.md", "216"): lambda: iteration_of(4) - iteration_of(7),
}


@pytest.fixture(scope="module")
def rows():
    return in_rows()


def test_every_page_has_an_entry():
    assert {*ledger()} == {*TEXTS} and len(TEXTS) > 25


@pytest.mark.parametrize("page", TEXTS)
def test_every_number_is_known(page, rows):
    """`python tests/page_numbers.py` says what differs, and keeps it."""
    assert not differences(page, TEXTS[page], rows, ledger()[page])
    others = ledger()[page]["others"]
    assert all(len(reason.split()) >= 2 for reason in others.values()), "a reason is two words"


@pytest.mark.parametrize("page", ordered())
def test_numbers_stand_where_they_stood(page):
    """`python tests/page_numbers.py write` keeps a change on purpose."""
    assert order(ordered()[page]) == orders()[page]


def test_every_order_is_of_a_page():
    assert {*orders()} == {*TEXTS, "bench/papers.md"}


@pytest.mark.parametrize(
    "wrong",
    [
        "3 of 3 seeds, 121 of one, 949 of the other",
        "2 of 3 seeds, 949 of one, 121 of the other",
        "2 of 3 seeds, 121 of one",
    ],
)
def test_an_order_sees_a_digit_a_swap_and_an_end(wrong):
    text = "2 of 3 seeds, 121 of one, 949 of the other"
    assert order(text) == order(f"{text} <!-- value: x -->7<!-- end -->") != order(wrong)


@pytest.mark.parametrize("page, number", FORMULAS)
def test_numbers_of_formulas_are_todays(page, number):
    assert "worked out" in ledger()[page]["others"][number]
    assert FORMULAS[page, number]() == float(number)


@pytest.mark.parametrize("page", [page for page in TEXTS if numbers(TEXTS[page])])
def test_a_planted_number_is_found(page, rows):
    """One that some row has, and one that none has."""
    for wrong in ("61121", "987654"):
        planted = f"{TEXTS[page]}\nIt takes {wrong} clocks.\n"
        assert differences(page, planted, rows, ledger()[page])
    # Of those that stand in one form, not in groups of digits too.
    text = TEXTS[page]
    alone = [x for x in sorted(numbers(text)) if x not in numbers(text.replace(x, "1"))]
    for number in sorted(alone, key=len)[-1:]:
        assert differences(page, text.replace(number, "1"), rows, ledger()[page])


@pytest.mark.parametrize(
    "text, found",
    [
        ("takes 1 234 567 clocks, 12.5 ms, 0.125, 9 or 4.2", {"1234567", "12.5", "0.125", "4.2"}),
        ("2^20, version 1.2.3, 2026-11-28, DDR4-2400, `5555`, [a](b4444.md), x1234", set()),
        ("<!-- value: learner @ 4-64-2 @ x -->5432<!-- end --> and 777", {"777"}),
        ("<!-- table: x -->\n| 5432 |\n<!-- end of table -->\n```\n4321\n```", set()),
        ("345, 45; (567), **678** | 789 |", {"345", "45", "567", "678", "789"}),
        ("at 1 000 and 2 000", {"1000", "2000"}),
    ],
)
def test_which_numbers_are_looked_up(text, found):
    assert numbers(text) == found
    assert "value" not in prose(text)


# -- numbers that are printed into sentences


def test_a_value_in_a_sentence_is_printed():
    text = "takes <!-- value: gae @ 64 x 1024 steps, k=2 @ gae_cycles -->1<!-- end --> clocks"
    assert printed.pages(texts={"docs/x.md": text})["docs/x.md"] == text.replace(">1<", ">1040<")


@pytest.mark.parametrize(
    "field, text",
    [
        ("gae @ 64 x 1024 steps, k=2 @ gae_cycles", "1040"),
        ("gae @ 64 x 1024 steps, k=2 @ gae_cycles @ beside", "1088"),
        ("gae @ 64 x 1024 steps, k=2 @ elements_per_cycle @ of HEPPO @ beside", "64"),
        ("fa3c @ 2 pairs of 64 PEs, 16 agents @ ips @ from Verilog", "5248"),
    ],
)
def test_fields(field, text):
    assert printed.filled(f"a {{{field}}} b") == f"a {text} b"


@pytest.mark.parametrize(
    "field, error, text",
    [
        ("gae @ 64 x 1024 steps, k=9 @ gae_cycles", KeyError, "gae must have a row of gae_cycles"),
        ("gay @ a @ b", ValueError, "field must be bench @ case @ metric"),
        ("gae @ a", ValueError, "field must be bench @ case @ metric"),
        ("gae @ a @ b @ HEPPO", ValueError, "field must end with beside, of ... or from ..."),
    ],
)
def test_fields_that_there_are_not(field, error, text):
    with pytest.raises(error, match=text):
        printed.filled(f"{{{field}}}")
