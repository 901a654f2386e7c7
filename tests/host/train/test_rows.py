"""host.train.rows: means of what was measured since the last row, over a checkpoint too."""

from types import SimpleNamespace

import pytest

from host import checkpoint
from host.algorithms.config import Clock
from host.phases import Phases
from host.train.rows import Rows


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


@pytest.mark.parametrize("cycles, wanted", [(None, None), (70, 70)])
def test_a_checkpoint_of_a_card_that_does_not_count_or_of_an_older_version(cycles, wanted):
    rig = Rig(cycles=cycles)
    rig.rows.load_state_dict({"seconds": 1.0, "device_cycles": None})
    assert rig.rows.device_cycles == wanted and rig.rows.seconds >= 1
