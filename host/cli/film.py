"""Writes films, picture after picture, into a file; after an error there is no file."""

import os
import warnings
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from host.checkpoint import atomic_write
from hw.extras import needed

__all__ = ["FILMS"]

#: most pictures of a GIF: all of them are in memory until the last one is there
_LONGEST = 2000

#: shortest time of a picture in a GIF, in hundredths of a second: viewers show a picture with a
#: shorter time for a tenth of a second
_SHORTEST = 2

#: least height of an MP4: smaller pictures are enlarged, since it has colour for every second pixel
_LOWEST = 320


@contextmanager
def _gif(path, rate):
    """GIF of ``rate`` pictures a second: a context manager that gives ``add(picture)``. The GIF
    ends after 2000 pictures, with a warning.

    A picture begins at the hundredth of a second that is nearest to its time, so that the film has
    the right speed; if there are more than 50 pictures a second, some are left out.
    """
    from PIL import Image  # matplotlib installs it

    pictures, begins, count = [], [], 0

    def add(picture):
        nonlocal count
        begin, count = round(100 * count / rate), count + 1
        if len(begins) > _LONGEST or (begins and begin < begins[-1] + _SHORTEST):
            return
        begins.append(begin)
        if len(pictures) < _LONGEST:
            pictures.append(Image.fromarray(picture))
        else:
            warnings.warn(
                f"a gif must have at most {_LONGEST} pictures, not more: it ends here; an mp4 has "
                "no limit",
                RuntimeWarning,
                stacklevel=3,
            )

    yield add
    end = max(round(100 * count / rate), begins[-1] + _SHORTEST)
    durations = [10 * delay for delay in np.diff([*begins, end]).tolist()]
    first, *others = pictures
    told = dict(duration=durations[: len(pictures)], loop=0)
    atomic_write(
        path, lambda file: first.save(file, "GIF", save_all=True, append_images=others, **told)
    )


@contextmanager
def _mp4(path, rate):
    """H.264 of ``rate`` pictures a second: a context manager that gives ``add(picture)``, which
    encodes the picture. MissingTool without PyAV."""
    av = needed("av", "video", "to write an mp4")
    partial = path.with_name(f"{path.name}.part")
    try:
        partial.unlink(missing_ok=True)
        with partial.open("xb") as file, av.open(file, "w", format="mp4") as container:
            stream = container.add_stream("libx264", rate=Fraction(rate))
            stream.pix_fmt = "yuv420p"  # what every player can show

            def add(picture):
                picture = _enlarged(picture)
                if not stream.codec_context.is_open:
                    stream.height, stream.width, _ = picture.shape
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))

            yield add
            container.mux(stream.encode())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _enlarged(picture):
    """Enlarges a picture by a whole factor; an odd side gets one more pixel, as H.264 needs."""
    height, width, _ = picture.shape
    factor = -(-_LOWEST // height)
    picture = picture.repeat(factor, axis=0).repeat(factor, axis=1)
    odd = [(0, side * factor % 2) for side in (height, width)]
    return np.pad(picture, (*odd, (0, 0)), mode="edge")


#: suffix -> ``film(path, rate)``, a context manager that gives ``add(picture)``; pictures are bytes
#: [height, width, 3]
FILMS = {"gif": _gif, "mp4": _mp4}
