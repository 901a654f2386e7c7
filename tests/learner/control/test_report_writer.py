"""report_writer against a memory behind a port: beats, addresses, when it is idle."""

import pytest

from hw.learner.control.report_writer import ReportWriter


@pytest.mark.parametrize("data_width", [128, 512])
def test_reports(simulate, data_width):
    simulate(ReportWriter(data_width), "learner.control.report_writer_bench", data_width=data_width)
