"""What a PNG from outside must be, and what is left of it."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.text.png_picture import MOST_BYTES, PictureError, read_png
from tests.kit.png import END, SIGNATURE, chunk, header, pixels, png


def test_a_picture_is_as_large_as_it_says_and_has_nothing_else_in_it() -> None:
    read = read_png(png(4, 3, chunk(b"tEXt", b"Comment\0\x1b]2;title\x07"), chunk(b"iCCP", b"profile")) + b"trailing")
    assert (read.width, read.height) == (4, 3)
    assert read.data == png(4, 3)
    split = zlib.compress(b"\0" + b"\x40" * 12)
    parts = b"".join(chunk(b"IDAT", split[at : at + 3]) for at in range(0, len(split), 3))
    assert read_png(SIGNATURE + header(4, 1) + parts + END).height == 1
    paletted = SIGNATURE + header(3, 2, 2, 3) + chunk(b"PLTE", b"\0" * 12) + chunk(b"IDAT", zlib.compress(b"\0\0" * 2))
    assert read_png(paletted + END).width == 3


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GIF89a", "is not a PNG"),
        (b"", "is not a PNG"),
        (png() + b"x" * MOST_BYTES, "bytes; at most"),
        (SIGNATURE + header(30_000, 30_000) + pixels(1, 1) + END, "is 30,000 × 30,000 pixels; at most 4,096 × 4,096"),
        (SIGNATURE + header(0, 4) + pixels(1, 1) + END, "is 0 × 4 pixels"),
        (png(4, 3, chunk(b"acTL", b"\0" * 8)), "is animated; only still ones are shown"),
        (SIGNATURE + header(4, 3, interlaced=1) + pixels(4, 3) + END, "is interlaced"),
        (SIGNATURE + header(4, 3, 8, 5) + pixels(4, 3) + END, "its colours are of no known kind"),
        (png(4, 3, chunk(b"QUIT")), "has a part that this program does not know"),
        (png()[:-20], "it is not complete"),
        (SIGNATURE + header(4, 3) + END, "it is not complete"),
        (SIGNATURE + pixels(4, 3) + END, "it does not begin with its size"),
        (SIGNATURE + header(4, 3) + header(4, 3) + pixels(4, 3) + END, "it has a part twice"),
        (png().replace(b"IDAT", b"IDaT"), "a part has another sum than it says"),
        (SIGNATURE + header(4, 3) + pixels(4, 2) + END, "it has not as many pixels as it says"),
        (SIGNATURE + header(4, 3) + pixels(400, 300) + END, "it has not as many pixels as it says"),
        (SIGNATURE + header(4, 3) + chunk(b"IDAT", b"pixels") + END, "its pixels cannot be unpacked"),
        (
            SIGNATURE + header(4, 3) + chunk(b"IDAT", zlib.compress(b"\0" * 39) + b"x") + END,
            "something follows its pixels",
        ),
        (SIGNATURE + b"\xff\xff\xff\xffIHDR", "it is not complete"),
    ],
)
def test_what_is_no_still_picture_is_refused_with_a_sentence(data: bytes, why: str) -> None:
    with pytest.raises(PictureError) as error:
        read_png(data)
    assert why in str(error.value)


def test_a_bomb_is_unpacked_no_further_than_the_picture_is_large() -> None:
    bomb = SIGNATURE + header(4, 3) + chunk(b"IDAT", zlib.compress(b"\0" * 40_000_000, 9)) + END
    assert len(bomb) < MOST_BYTES
    tracemalloc.start()
    try:
        with pytest.raises(PictureError):
            read_png(bomb)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@given(st.binary(max_size=400), st.integers(0, 120), st.integers(0, 20))
def test_no_bytes_end_it_otherwise(data: bytes, at: int, cut: int) -> None:
    whole = png()
    for hostile in (data, SIGNATURE + data, whole[:at] + data + whole[at + cut :]):
        try:
            read = read_png(hostile)
        except PictureError:
            continue
        assert read.data.startswith(SIGNATURE)
