"""PNG files made by hand, whole or hostile."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def header(width: int, height: int, depth: int = 8, colour: int = 2, interlaced: int = 0) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))


def pixels(width: int, height: int, channels: int = 3) -> bytes:
    return chunk(b"IDAT", zlib.compress(b"".join(b"\0" + b"\x40" * width * channels for _ in range(height))))


END = chunk(b"IEND")


def png(width: int = 4, height: int = 3, *more: bytes) -> bytes:
    """A grey picture. `more`: parts before its pixels."""
    return SIGNATURE + header(width, height) + b"".join(more) + pixels(width, height) + END
