"""What a file is by its first bytes, as a media type, among those that models take or that can be made such. Pure."""

from __future__ import annotations

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff", "image/avif"})
"""What is read as a picture; each is sent as PNG or JPEG."""
PDF = "application/pdf"
SOUNDS = frozenset({"audio/wav", "audio/mpeg", "audio/flac", "audio/ogg", "audio/mp4", "audio/aac", "audio/aiff"})
_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (4, b"ftypavif", "image/avif"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (4, b"ftypM4A", "audio/mp4"),
    (8, b"AIFF", "audio/aiff"),
)
"""(offset, bytes, type)"""
_RIFF = (b"WEBP", b"WAVE")
HEAD = 1_100
"""Bytes that `media_type` wants to see."""


def media_type(head: bytes) -> str:
    """The media type of a file that begins with `head`; empty: none of these, perhaps text."""
    for at, signature, kind in _SIGNATURES:
        if head.startswith(signature, at) and (signature not in _RIFF or head.startswith(b"RIFF")):
            return kind
    if (
        head.startswith(b"BM")
        and head[6:10] == b"\0\0\0\0"
        and head[14:18] in (b"\x28\0\0\0", b"\x6c\0\0\0", b"\x7c\0\0\0")
    ):
        return "image/bmp"
    if b"%PDF-" in head[:1_024] and not head[: head.find(b"%PDF-")].strip(b"\0\t\n\r \xef\xbb\xbf"):
        return PDF
    # Frames of MP3 and AAC have no signature but eleven or twelve bits that are set.
    if len(head) > 3 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0:
        if head[1] & 0xF6 == 0xF0:
            return "audio/aac"
        if head[1] & 0x06 == 0x02 and head[2] & 0xF0 not in (0x00, 0xF0) and head[1] & 0x18 != 0x08:
            return "audio/mpeg"
    return ""
