"""A PNG from outside, checked by its content and reduced to what a still picture needs. Pure.

No decoder of pictures sees such bytes here: their parts are counted and summed, and the pixels are unpacked only to be
counted. What passes is exactly as large as it says, and has nothing in it but its pixels: no text, no profile, no
animation. So a terminal can be given it.
"""

from __future__ import annotations

import zlib

import msgspec

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_BYTES = 1_500_000
"""Of a picture that is kept."""
MOST_PIXELS = 4_096
"""Of its width and its height."""
_NEEDED = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"))
_ANIMATION = frozenset((b"acTL", b"fcTL", b"fdAT"))
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""By the colour type."""
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PIECE = 1 << 20


class PictureError(ValueError):
    """It cannot be shown; the text says why, as the end of a sentence that begins with `the picture`."""


class PngPicture(msgspec.Struct, frozen=True):
    """A still picture."""

    width: int
    """Pixels."""
    height: int
    data: bytes
    """The PNG, without anything that is not needed to draw it."""


def read_png(data: bytes) -> PngPicture:
    """Check it. Raises `PictureError`."""
    if not data.startswith(SIGNATURE):
        raise PictureError("is not a PNG")
    if len(data) > MOST_BYTES:
        raise PictureError(f"has {len(data):,} bytes; at most {MOST_BYTES:,} are kept")
    width = height = expected = 0
    kept: list[bytes] = [SIGNATURE]
    order: list[bytes] = []
    pixels: list[bytes] = []
    for kind, body, whole in _chunks(data):
        if kind in _ANIMATION:
            raise PictureError("is animated; only still ones are shown")
        if kind not in _NEEDED:
            if not kind[0] & 0x20:  # without it nobody could draw the picture
                raise PictureError("has a part that this program does not know")
            continue
        if not order:
            width, height, expected = _size(kind, body)
        if kind == b"IDAT":
            pixels.append(body)
        elif kind in order:
            raise PictureError("is damaged: it has a part twice")
        order.append(kind)
        kept.append(whole)
    if order[-1:] != [b"IEND"] or not pixels:
        raise PictureError("is damaged: it is not complete")
    if _unpacked_size(pixels, expected) != expected:
        raise PictureError("is damaged: it has not as many pixels as it says")
    return PngPicture(width, height, b"".join(kept))


def _chunks(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """(kind, content, all of it) of each part, up to the last."""
    found: list[tuple[bytes, bytes, bytes]] = []
    at = len(SIGNATURE)
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        whole = data[at : at + 12 + length]
        kind, body = whole[4:8], whole[8:-4]
        if len(whole) != 12 + length or not kind.isalpha():
            raise PictureError("is damaged: it is not complete")
        if zlib.crc32(whole[4:-4]) != int.from_bytes(whole[-4:], "big"):
            raise PictureError("is damaged: a part has another sum than it says")
        found.append((kind, body, whole))
        at += len(whole)
        if kind == b"IEND":
            break
    return found


def _size(kind: bytes, body: bytes) -> tuple[int, int, int]:
    """Width, height and bytes of the unpacked pixels."""
    if kind != b"IHDR" or len(body) != 13:
        raise PictureError("is damaged: it does not begin with its size")
    width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
    depth, colour, packing, filtering, interlaced = body[8:]
    if not (0 < width <= MOST_PIXELS and 0 < height <= MOST_PIXELS):
        raise PictureError(f"is {width:,} × {height:,} pixels; at most {MOST_PIXELS:,} × {MOST_PIXELS:,} are shown")
    if depth not in _DEPTHS.get(colour, ()) or packing or filtering:
        raise PictureError("is damaged: its colours are of no known kind")
    if interlaced:
        raise PictureError("is interlaced; save it without")
    return width, height, height * (1 + (width * _CHANNELS[colour] * depth + 7) // 8)


def _unpacked_size(pixels: list[bytes], expected: int) -> int:
    """How many bytes the pixels are, counted to just over what is expected."""
    unpacker = zlib.decompressobj()
    size = 0
    try:
        for piece in pixels:
            while piece and size <= expected:
                size += len(unpacker.decompress(piece, _PIECE))
                piece = unpacker.unconsumed_tail
        while size <= expected and not unpacker.eof and (more := unpacker.decompress(b"", _PIECE)):
            size += len(more)
    except zlib.error:
        raise PictureError("is damaged: its pixels cannot be unpacked") from None
    if unpacker.unused_data:
        raise PictureError("is damaged: something follows its pixels")
    return size if unpacker.eof else -1
