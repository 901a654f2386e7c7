"""`rlfabric report`: what of a report is shown."""

from host.explore.resource_report import _largest
from hw.estimate import RESOURCES


def test_the_largest_parts_of_a_report():
    """By the largest share that each takes of anything; the others as one."""
    rows = [
        dict.fromkeys(RESOURCES, 0) | dict(unit=str(k), lut=k, dsp=9 * (k == 1)) for k in range(5)
    ]
    found = _largest(rows, {"lut": 10, "dsp": 10}, ("lut", "dsp"), most=2)
    assert [row["unit"] for row in found] == ["1", "4", "3 others"]
    assert (found[-1]["lut"], found[-1]["dsp"]) == (0 + 2 + 3, 0)
