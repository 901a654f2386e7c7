"""bench.results, bench.tables, bench.pages: what is measured is kept, and documents are printed."""

import json
import re
from pathlib import Path

import pytest

from bench import markdown, pages, results, tables
from bench.learner import cf22
from bench.learner.cases import cases
from hw.learner.step_clocks import step_clocks

ROOT = Path(__file__).parents[2]
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for folder in (".", "docs", "docs/results")
    for path in sorted((ROOT / folder).glob("*.md"))
}


def row(case, value, **more):
    values = dict(bench="tiny", case=case, metric="clocks", value=value, unit="")
    return {**values, "reference": None, "reference_value": None, "source": "a test", **more}


# -- what is printed is what is there (host 11)


@pytest.fixture(scope="module")
def printed():
    return pages.pages()


def test_documents_are_what_their_rows_print(printed):
    """`make tables` writes them where this fails."""
    assert len(printed) > 6
    for name, text in printed.items():
        assert (ROOT / name).read_text() == text, f"{name} must be as `make tables` prints it"
    assert {f"docs/results/{name}.md" for name in results.names()} <= set(printed)
    for name in results.names():
        assert f"<!-- rows: {name} -->" in printed[f"docs/results/{name}.md"]


@pytest.mark.parametrize("table", tables.TABLES)
def test_a_wrong_cell_in_a_table_is_found(printed, table):
    """Each table stands in one document, and a digit planted in its last line changes the text."""
    (name,) = (name for name, text in TEXTS.items() if f"<!-- table: {table} -->" in text)
    text = TEXTS[name]
    begin = text.index(f"<!-- table: {table} -->")
    end = text.index("<!-- end of table -->", begin)
    digit = [found.start() for found in re.finditer(r"\d", text[begin:end])][-1] + begin
    planted = f"{text[:digit]}{(int(text[digit]) + 1) % 10}{text[digit + 1 :]}"
    assert pages.pages(texts={name: planted})[name] == printed[name] != planted


def test_what_is_measured_has_no_table_by_hand():
    for name, text in TEXTS.items():
        if name.startswith("docs/results"):
            rest = re.sub(r"<!-- (table|rows): .*?<!-- end of \1 -->", "", text, flags=re.S)
            assert "\n|" not in rest, name


def test_a_table_that_there_is_not():
    with pytest.raises(ValueError, match="^table must be one of learner_steps, .*, not 'mine'$"):
        pages.pages(texts={"README.md": "<!-- table: mine -->\n<!-- end of table -->"})


def test_a_row_that_is_missing(tmp_path):
    results.keep("gae", [row("x", 1)], tmp_path)
    with pytest.raises(
        KeyError, match="gae must have a row of gae_cycles of '64 x 1024 steps, k=1"
    ):
        tables.lines("gae_array", tmp_path)


def test_peak_rates_are_normalized_as_the_paper_does_it():
    """FIXAR, Table II, prints 12 849.1, 6823.2 and 38 779.8 of the first three."""
    heads, _, *lines = tables.lines("fixar_platforms")
    columns = [head.strip(" |") for head in heads.split(" | ")]
    rows = {name: cells for name, *cells in (each[2:-2].split(" | ") for each in lines)}
    assert rows["normalized"][:3] == ["12 849", "6823", "38 780"]
    own = {name: {what: cells[columns.index(name) - 1] for what, cells in rows.items()}
           for name in ("`a3c`", "`fixar`", "`dqn`, 4-64-2")}  # fmt: skip
    assert own["`fixar`"]["normalized"] == own["`fixar`"]["IPS, peak"]
    assert own["`dqn`, 4-64-2"]["network, KB"] == "1.536"
    clocks = results.Results.of("learner").value(
        "4-64-2, words 4-8-2, DP=2, fixed, B=512", "iteration_cycles"
    )
    assert own["`dqn`, 4-64-2"]["IPS, peak"] == markdown.shown(round(512 * 250e6 / clocks))
    assert own["`a3c`"]["normalized"] == markdown.shown(
        round(int(own["`a3c`"]["IPS, peak"]) * 2592 / 514.4)
    )


# -- what is kept


def test_a_part_of_a_bench_is_measured_again_alone(tmp_path):
    """Rows that are measured anew take the place of the old ones; the others keep their commit."""
    old = [row("a", 1), row("b", 2), row("b", 2, reference="most", reference_value=3)]
    assert results.keep("tiny", old, tmp_path, made=("1234567", "2026-01-01 00:00")) == 0
    assert results.keep("tiny", [row("b", 5), row("c", 6)], tmp_path) == 2
    first, second = results.kept("tiny", tmp_path)
    assert (first["commit"], first["rows"]) == ("1234567", [old[0], old[2]])
    assert second["rows"] == [row("b", 5), row("c", 6)] and second["date"] > first["date"]
    found = results.Results.of("tiny", tmp_path)
    assert [found.value("b", "clocks", reference=which) for which in (None, "most")] == [5, 2]
    assert found.beside("b", "clocks", reference="most") == 3
    page = pages.pages(tmp_path, texts={})["docs/results/tiny.md"]
    assert "Measured 2026-01-01 00:00 at commit 1234567:" in page and "| b | clocks | 5 |" in page
    assert results.keep("tiny", [row("d", 1)], tmp_path, fresh=True) == 0
    assert len(results.kept("tiny", tmp_path)) == 1
    assert json.loads((tmp_path / "tiny.json").read_text())[0]["rows"] == [row("d", 1)]


@pytest.mark.parametrize(
    "value, text",
    [(None, ""), ("x", "x"), (9999, "9999"), (1234567, "1 234 567"), (32.0, "32"), (0.97, "0.97")],
)
def test_cells(value, text):
    assert markdown.shown(value) == text


# -- rows of formulas are today's (papers N2)


def test_every_row_of_the_learner_says_what_its_kernel_has():
    heads, _, *lines = tables.lines("learner_steps")
    assert "| multipliers | gradient step | at most | CF'22, these | CF'22, its PEs |" in heads
    own = "| 4-64-2 | 4-8-2 | 2 | fixed | 64 | 64, 32 | 432 | 490 | 312 | 312 |"
    assert own in "\n".join(lines)
    known = {case.name(batch): case for case in cases() for batch in case.batches}
    for line in lines:
        net, words, lanes, kind, batch, own, step, bar, these, its, *_ = line[2:].split(" | ")
        case = known.pop(f"{net}, words {words}, DP={lanes}, {kind}, B={batch}")
        learner, batch = case.learner, int(batch)
        have, paper = cf22.multipliers_of(learner), cf22.nominal_pes(learner)
        wanted = [
            case.bars.get(batch),
            round(cf22.cf22_cycles(learner, batch, have)),
            round(cf22.cf22_cycles(learner, batch, paper)),
        ]
        layers = [", ".join(str(learner.lanes * x) for x in each) for each in have.values()]
        assert own == " and ".join(layers)
        assert [bar, these, its] == [markdown.shown(value) for value in wanted]
        assert step == markdown.shown(step_clocks(learner, batch).step)
    assert not known, "every case is measured"


def test_digits_in_groups_begin_at_ten_thousand():
    assert markdown.line([9999, 10_000, -10_000]) == "| 9999 | 10 000 | -10 000 |"
