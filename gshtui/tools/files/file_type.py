"""What a file's first bytes say it is: text with its encoding, or a kind of binary data.

Pure. `puremagic` guesses instead: it calls any ZIP archive a Word document and zeros an embroidery, and gives no
picture sizes.
"""

from __future__ import annotations

import codecs
import struct

import msgspec

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"BM", "BMP image"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"\0\0\1\0", "icon"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (or an office document, wheel or jar)"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\0", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "Mach-O or Java class"),
    (b"MZ", "Windows program"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\0asm", "WebAssembly module"),
    (b"OggS", "Ogg sound or video"),
    (b"ID3", "MP3 sound"),
    (b"fLaC", "FLAC sound"),
    (b"wOFF", "web font"),
    (b"wOF2", "web font"),
    (b"\0\1\0\0\0", "TrueType font"),
    (b"OTTO", "OpenType font"),
)
# Longer marks first: those of UTF-32 begin like those of UTF-16.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NOT_TEXT = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x1b\a") + b"\x7f"


class FileType(msgspec.Struct, frozen=True):
    """Text with its encoding and byte order mark, or binary with its description."""

    encoding: str = ""
    """Empty for binary data."""
    mark: bytes = b""
    description: str = ""
    """The kind of binary data, or the encoding if it is not plain UTF-8."""


def filetype(head: bytes, *, whole: bool = False) -> FileType:
    """Return the type of a file that begins with `head`.

    Args:
        head: its first bytes, about 8 KB.
        whole: nothing follows, so a truncated character at the end is an error.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return FileType(encoding, mark, "" if encoding == "utf-8" else encoding.upper())
    if is_binary(head):
        return FileType(description=describe(head))
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return FileType("latin-1", description="not valid UTF-8, read as Latin-1")
    return FileType("utf-8")


def is_binary(head: bytes) -> bool:
    """Return whether the bytes are not text in any encoding that has no mark.

    Allows a few control characters, so that a log with a stray NUL or NUL-separated file names still count as text.
    """
    if not head:
        return False
    if any(head.startswith(magic) and len(magic) > 2 for magic, _ in _MAGIC) and not _looks_written(head):
        return True
    odd = len(head) - len(head.translate(None, _NOT_TEXT))
    return odd * 100 > len(head) * (10 if _looks_written(head) else 1)


def describe(head: bytes) -> str:
    """Name the kind of binary data, with the size of a picture if the head contains it."""
    if head.startswith(b"RIFF") and len(head) >= 12:
        return {b"WEBP": "WebP image", b"WAVE": "WAV sound", b"AVI ": "AVI video"}.get(head[8:12], "RIFF data")
    if head[4:8] == b"ftyp":
        return "HEIF or AVIF image" if head[8:12] in (b"heic", b"avif", b"mif1") else "MP4 video or sound"
    if head[257:262] == b"ustar":
        return "tar archive"
    kind = next((words for magic, words in _MAGIC if head.startswith(magic)), "binary data")
    size = _picture_size(head)
    return f"{kind}, {size[0]}×{size[1]} pixels" if size else kind


def _looks_written(head: bytes) -> bool:
    """Return whether it decodes as UTF-8, ignoring a truncated character at the end."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _picture_size(head: bytes) -> tuple[int, int] | None:
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        width, height = struct.unpack(">II", head[16:24])
        return width, height
    if head.startswith(b"GIF8") and len(head) >= 10:
        width, height = struct.unpack("<HH", head[6:10])
        return width, height
    return _jpeg_size(head) if head.startswith(b"\xff\xd8") else None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        kind = head[at + 1]
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None
