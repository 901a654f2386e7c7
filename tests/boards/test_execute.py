"""boards.bitstream.execute: tools that do not end, and what they began."""

import time

import pytest

from boards import bitstream
from boards.bitstream import BuildFailed


def test_a_tool_that_does_not_end(tmp_path):
    with pytest.raises(BuildFailed, match="^sleep 30 must succeed, not run for more than 0.1 s"):
        bitstream.execute(["sleep", "30"], tmp_path, "log", limit_s=0.1)


@pytest.mark.parametrize("ignored", ["", "trap '' TERM; "])
def test_u_what_a_tool_began_ends_with_it(tmp_path, monkeypatch, ignored):
    """Behind ``make`` it is not the process that was started, and it may ignore SIGTERM."""
    monkeypatch.setattr(bitstream, "_GRACE_S", 0.2)
    script = f"{ignored}(while true; do echo alive > beat; sleep 0.02; done) & wait"
    with pytest.raises(BuildFailed, match="^sh -c .* must succeed, not run for more than 0.5 s"):
        bitstream.execute(["sh", "-c", script], tmp_path, "log", limit_s=0.5)
    assert (tmp_path / "beat").exists()
    time.sleep(0.1)  # what a beat that was under way takes
    (tmp_path / "beat").unlink()
    time.sleep(0.3)
    assert not (tmp_path / "beat").exists(), "it goes on"
