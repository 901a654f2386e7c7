"""host.runs.progress_rows: means of what was measured since the last row, over a checkpoint too."""

from types import SimpleNamespace

import pytest

from host import checkpoint
from host.algorithms.config import Clock
from host.phases import PHASES, Phases
from host.runs.progress_rows import Rows
from host.runs.run_log import read_progress


class Rig:
    """Rows of a run that a test moves on; ``rows`` are those written."""

    def __init__(self, launches=0, cycles=0):
        self.session = SimpleNamespace(
            launches=launches, clock=Clock(), phases=Phases(), device_cycles=cycles,
            progress=lambda: {"epsilon": 0.5}, columns=("loss", "td_error", "epsilon"),
        )  # fmt: skip
        self.scores = SimpleNamespace(episodes=0, returns=[], lengths=[], evaluation=None)
        self.written = []
        self.rows = Rows(self.session, self.scores, SimpleNamespace(row=self.written.append))

    def launch(self, **measured):
        self.session.launches += 1
        self.rows.measure(measured)

    def write(self):
        """The row, or None where there was none to write."""
        before = len(self.written)
        self.rows.write()
        return self.written[-1] if len(self.written) > before else None


def test_means_are_of_what_was_measured_since_the_last_row():
    rig = Rig()
    rig.launch(loss=1.0, td_error=None)
    rig.launch(loss=4.0, td_error=8.0)
    row = rig.write()
    assert (row["loss"], row["td_error"], row["epsilon"], row["launches"]) == (2.5, 8, 0.5, 2)
    rig.launch(loss=7.0)
    row = rig.write()
    assert row["loss"] == 7 and "td_error" not in row


def test_a_row_has_each_number_in_its_place():
    rig = Rig(cycles=90)
    rig.session.clock.steps, rig.scores.episodes = 64, 7
    rig.scores.returns, rig.scores.lengths = [1.0] * 50 + [4.0] * 50, [3, 6, 6]
    rig.scores.evaluation = 0.0
    rig.launch(loss=0.0, epsilon=9.0)
    rig.launch(loss=3.0)
    row = rig.write()
    times = {name: row.pop(name) for name in list(row) if name.startswith("seconds")}
    assert times.keys() == {"seconds", *(f"seconds_{name}" for name in PHASES)}
    assert row == {
        "launches": 2, "steps": 64, "episodes": 7, "return_mean": 2.5, "length_mean": 5.0,
        "evaluation_return": 0.0, "loss": 1.5, "epsilon": 0.5, "device_cycles": 90,
    }  # fmt: skip
    rig.launch()
    assert rig.write()["evaluation_return"] is None


def test_the_log_goes_on_where_the_session_is(tmp_path):
    """Rows after it are dropped; a row of the launch that is there already is not written again."""
    rig = Rig()
    rig.session.clock.steps = 8
    records = rig.rows._records
    records.out = tmp_path
    rig.rows.begin()
    assert records.log.launches is None
    for launches in (5, 10):
        records.log.write({"launches": launches, "steps": 8 * launches})
    records.log.close()
    header = (tmp_path / "progress.csv").read_text().splitlines()[0].split(",")
    shared = ["launches", "steps", "episodes", "seconds", "return_mean", "length_mean"]
    shared += ["evaluation_return", "td_error", "device_cycles"]
    assert [name for name in header if "seconds_" not in name] == [*shared, "loss", "epsilon"]
    for launches, dropped in ((7, True), (5, False)):
        again = Rig(launches=launches)
        again.rows._records.out = tmp_path
        again.rows.begin()
        again.rows._records.log.close()
        assert [row["launches"] for row in read_progress(tmp_path)] == [5]
        assert (again.write() is not None) == dropped


def test_one_row_of_a_launch_unless_it_was_evaluated_since():
    rig = Rig()
    rig.launch(loss=1.0)
    assert rig.write() and rig.write() is None
    rig.scores.evaluation = 9.0
    assert rig.write()["evaluation_return"] == 9 and rig.scores.evaluation is None
    assert rig.write() is None


def test_a_resumed_run_goes_on_with_the_row_that_was_begun(tmp_path):
    """Its means are of the launches before the checkpoint as well; clocks and seconds add up."""
    before, after = Rig(cycles=500), Rig(launches=3, cycles=70)
    for loss in (1.0, 2.0, 6.0):
        before.launch(loss=loss, td_error=None)
    before.rows.forget(100)
    checkpoint.save(tmp_path / "a.npz", "training", {}, before.rows.state_dict())
    _, state = checkpoint.load(tmp_path / "a.npz", "training")
    after.rows.load_state_dict(state)
    assert after.rows.seconds > state["seconds"] > 0
    after.launch(loss=11.0)
    row = after.write()
    assert row["loss"] == 5 and row["device_cycles"] == 470
    after.launch(loss=1.0)
    assert after.write()["loss"] == 1, "once"


@pytest.mark.parametrize("cycles, wanted", [(None, None), (70, 70), (0, 0)])
def test_a_checkpoint_of_a_card_that_does_not_count_or_of_an_older_version(cycles, wanted):
    rig = Rig(cycles=cycles)
    rig.rows.load_state_dict({"seconds": 1.0, "device_cycles": None})
    assert rig.rows.device_cycles == wanted and rig.rows.seconds >= 1
