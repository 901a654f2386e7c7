"""host.cli.film: at the right speed, of a size that every player shows, whole or not there."""

import av
import numpy as np
import pytest
from PIL import Image

from host.cli import film
from host.cli.film import FILMS


def pictures(count, height=4, width=6):
    """Pictures no two of which are the same: an encoder of GIF joins those."""
    for number in range(count):
        yield np.full((height, width, 3), number, np.uint8)


def filmed(path, rate, count, **size):
    with FILMS[path.suffix[1:]](path, rate) as add:
        for picture in pictures(count, **size):
            add(picture)
    return path


def shown(path):
    """``[(number, milliseconds), ...]`` of the pictures of a GIF."""
    found = []
    with Image.open(path) as file:
        for place in range(file.n_frames):
            file.seek(place)
            found.append((file.convert("RGB").getpixel((0, 0))[0], file.info["duration"]))
    return found


@pytest.mark.parametrize("count", [1, 2, 7, 100])
@pytest.mark.parametrize("rate", [1, 10, 15, 29.97, 30, 50, 60, 100, 125, 1000])
def test_a_gif_lasts_as_long_as_the_episode(tmp_path, rate, count):
    """Delays are whole hundredths of a second, and no viewer shows less than two of them. Every
    picture is shown within a hundredth of its time."""
    found = shown(filmed(tmp_path / "a.gif", rate, count))
    numbers, delays = np.array(found).T
    assert delays.min() >= 20 and numbers[0] == 0
    begins = np.concatenate([[0], np.cumsum(delays)])
    np.testing.assert_allclose(begins[:-1], 1000 * numbers / rate, rtol=0, atol=5.01)
    assert begins[-1] == pytest.approx(max(1000 * count / rate, begins[-2] + 20), abs=5.01)
    if rate <= 50:
        assert numbers.tolist() == list(range(count))


@pytest.mark.parametrize("count", [3, 4, 9])
def test_a_gif_that_is_too_long_ends_in_time(tmp_path, monkeypatch, count):
    """It is warned of once, and the last picture stays no longer than the others."""
    monkeypatch.setattr(film, "_LONGEST", 3)
    if count == 3:
        found = shown(filmed(tmp_path / "a.gif", 10, count))
    else:
        with pytest.warns(RuntimeWarning, match="at most 3 pictures") as warned:
            found = shown(filmed(tmp_path / "a.gif", 10, count))
        assert len(warned) == 1
    assert found == [(0, 100), (1, 100), (2, 100)]


@pytest.mark.parametrize(
    "size, wanted",
    [((4, 6), (320, 480)), ((319, 7), (638, 14)), ((320, 5), (320, 6)), ((321, 321), (322, 322))],
)
def test_the_size_of_a_video(tmp_path, size, wanted):
    """At least 320 high, both sides even."""
    height, width = size
    path = filmed(tmp_path / "a.mp4", 60, 3, height=height, width=width)
    with av.open(path) as video:
        stream = video.streams.video[0]
        assert (stream.height, stream.width) == wanted and stream.average_rate == 60
        assert sum(1 for _ in video.decode(video=0)) == 3


@pytest.mark.parametrize("kind", FILMS)
def test_an_error_leaves_no_film(tmp_path, kind):
    """And an earlier one stays as it was."""
    path = tmp_path / f"a.{kind}"
    path.write_bytes(b"earlier")
    with pytest.raises(LookupError):
        with FILMS[kind](path, 30) as add:
            add(next(pictures(1)))
            raise LookupError
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"earlier"
