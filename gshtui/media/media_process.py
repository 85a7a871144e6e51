"""The program that reads one foreign picture, PDF or sound, in a process of its own with little memory and time.

Called as `python -m gshtui.media.media_process TYPE FILE FOLDER`: it writes what may be sent into the folder,
and one JSON object about it, or `{"refused": …}` with the end of a sentence that begins with the file's name.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

TOLD = "told.json"
"""The file of the JSON object."""
MEMORY = 1_500_000_000
"""Bytes of address space."""
SECONDS = 20
"""Of the processor; the caller waits a little longer."""
MOST_PIXELS = 80_000_000
EDGE = 2_000
"""Pixels of the longer side at most: more than any provider looks at, and what Anthropic takes of many pictures."""
MOST_BYTES = 3_700_000
"""Of a picture as it is sent: in base64 it is below 5 MB, the smallest limit of a provider."""
COLUMNS, ROWS = 48, 16
"""Cells of a small copy at most."""
FOR_TERMINAL = "terminal"
"""In place of a type: the picture as a PNG that a terminal is given."""
FOR_PIXELS = "pixels:"
"""In place of a type, before WIDTHxHEIGHT: the picture as so many pixels of few colours."""
_COLOURS = 96
_TERMINAL_EDGE = 600
"""Pixels of its longer side."""
MOST_TEXT = 4_000_000
"""Bytes of a PDF's text that are kept."""
_READS_FOR = 12.0
"""Seconds for the text of a PDF."""


class Refused(Exception):
    """The text is the end of a sentence that begins with the file's name."""


def read_picture(source: Path, folder: Path) -> dict[str, Any]:
    """Write the picture upright, without metadata, within the limits, as `picture`."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # it is checked here, before a pixel is decoded
    done: list[str] = []
    try:
        with Image.open(source, formats=("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF")) as found:
            kind, (width, height) = str(found.format), found.size
            if width * height > MOST_PIXELS:
                raise Refused(f"has {width:,} × {height:,} pixels; at most {MOST_PIXELS:,} are read")
            frames = int(getattr(found, "n_frames", 1))
            if kind == "JPEG":
                found.draft("RGB", (EDGE * 2, EDGE * 2))
            found.seek(0)
            found.load()
            # What a viewer would show: colours as sRGB has them would need the profile, which few pictures have.
            picture: Image.Image = ImageOps.exif_transpose(found)
            bare = picture.convert("RGBA" if _has_alpha(picture) else "L" if picture.mode in ("1", "L") else "RGB")
    except UnidentifiedImageError:
        raise Refused("begins like a picture, but is none that can be read") from None
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, TypeError, ZeroDivisionError):
        raise Refused("is a damaged picture") from None
    upright = (height, width) if (bare.width > bare.height) != (width > height) and width != height else (width, height)
    if frames > 1:
        done.append(f"only the first of {frames} frames is sent")
    bare, data, media_type = _within_limits(bare, lossy=kind == "JPEG")
    if kind == "PNG" and frames == 1 and bare.size == (width, height):
        data, media_type = _as_it_is(source, data, media_type)
    if bare.size != upright:
        done.append(f"scaled from {upright[0]}×{upright[1]} to {bare.width}×{bare.height} pixels")
    if kind not in ("PNG", "JPEG") or (kind == "PNG") != (media_type == "image/png"):
        done.append(f"converted from {kind} to {media_type.removeprefix('image/').upper()}")
    (folder / "picture").write_bytes(data)
    columns = _small_copy(bare, folder / "small")
    return {"media_type": media_type, "width": bare.width, "height": bare.height, "columns": columns, "done": done}


def _as_it_is(source: Path, data: bytes, media_type: str) -> tuple[bytes, str]:
    """A PNG without its metadata, its pixels as they were packed; else what was given."""
    from gshtui.text.png_picture import PictureError, read_png

    try:
        return read_png(source.read_bytes()).data, "image/png"
    except PictureError:
        return data, media_type


def _small_copy(picture: Any, path: Path) -> int:
    """Write a copy for half blocks, two pixels a cell; returns its columns."""
    import zlib

    small = picture.convert("RGBA").copy()
    small.thumbnail((COLUMNS, 2 * ROWS))
    from PIL import Image

    ground = Image.new("RGBA", small.size, (128, 128, 128, 255))
    ground.alpha_composite(small)
    path.write_bytes(zlib.compress(ground.convert("RGB").tobytes(), 9))
    return small.width


def _has_alpha(picture: Any) -> bool:
    return picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info


def _within_limits(picture: Any, *, lossy: bool) -> tuple[Any, bytes, str]:
    """(picture, file, type), scaled and packed until it is small enough."""
    import io

    from PIL import Image

    edge = EDGE
    while True:
        if max(picture.size) > edge:
            ratio = edge / max(picture.size)
            size = (max(1, round(picture.width * ratio)), max(1, round(picture.height * ratio)))
            picture = picture.resize(size, Image.Resampling.LANCZOS)
        ways = ["JPEG"] if lossy else ["PNG"] if picture.mode == "RGBA" else ["PNG", "JPEG"]
        for way in ways:
            packed = io.BytesIO()
            picture.save(packed, way, **({"quality": 90} if way == "JPEG" else {}))
            if packed.tell() <= MOST_BYTES:
                return picture, packed.getvalue(), f"image/{way.lower()}"
        edge = max(picture.size) * 3 // 4


def read_for_terminal(source: Path, folder: Path) -> dict[str, Any]:
    """Write a picture that was read before as a PNG that is no larger than a terminal shows, as `picture`."""
    from PIL import Image

    try:
        with Image.open(source, formats=("PNG", "JPEG")) as found:
            picture = found.convert("RGBA" if _has_alpha(found) else "RGB")
            picture.thumbnail((_TERMINAL_EDGE, _TERMINAL_EDGE))
            picture.save(folder / "picture", "PNG")
    except (OSError, SyntaxError, ValueError):
        raise Refused("is a damaged picture") from None
    return {}


def read_for_pixels(source: Path, folder: Path, width: int, height: int) -> dict[str, Any]:
    """Write a picture that was read before as `picture`: 256 colours of three bytes, then a byte for each pixel."""
    from PIL import Image

    try:
        with Image.open(source, formats=("PNG", "JPEG")) as found:
            picture = found.convert("RGBA").resize((width, height), Image.Resampling.LANCZOS)  # pyright: ignore[reportUnknownMemberType]
            ground = Image.new("RGBA", picture.size, (128, 128, 128, 255))
            ground.alpha_composite(picture)
            few = ground.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
            colours = bytes(few.getpalette() or ())
    except (OSError, SyntaxError, ValueError):
        raise Refused("is a damaged picture") from None
    (folder / "picture").write_bytes(colours[:768].ljust(768, b"\0") + few.tobytes())
    return {}


def read_pdf(source: Path, folder: Path) -> dict[str, Any]:
    """Count the pages, and write their text as `text`."""
    from pypdf import PdfReader
    from pypdf.errors import LimitReachedError, PyPdfError

    done: list[str] = []
    texts: list[str] = []
    size = 0
    ends = time.monotonic() + _READS_FOR
    try:
        reader = PdfReader(source)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Refused("is protected by a password; save it without one first")
        pages = len(reader.pages)
        for number, page in enumerate(reader.pages, 1):
            if time.monotonic() > ends or size > MOST_TEXT:
                done.append(f"the text of its first {number - 1} of {pages} pages was read")
                break
            words = page.extract_text().strip()
            texts.append(f"[page {number} of {pages}]\n{words or '(no text)'}")
            size += len(words.encode("utf-8", "replace"))
    except LimitReachedError:
        raise Refused("unpacks to far more than its size and was not read") from None
    except (PyPdfError, OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused("is a damaged PDF") from None
    if not pages:
        raise Refused("is a PDF without pages")
    has_text = any(not text.endswith("(no text)") for text in texts)
    (folder / "text").write_bytes("\n\n".join(texts).encode("utf-8", "replace") if has_text else b"")
    return {"pages": pages, "done": done}


def read_sound(source: Path, kind: str) -> dict[str, Any]:
    """The length of a sound, where its header tells it."""
    import wave

    seconds = 0.0
    if kind == "audio/wav":
        try:
            with wave.open(str(source), "rb") as sound:
                seconds = sound.getnframes() / max(1, sound.getframerate())
        except (wave.Error, EOFError, OSError):
            raise Refused("begins like a WAV sound, but is none that can be read") from None
    return {"seconds": seconds, "done": []}


def main(kind: str, file: str, into: str) -> int:
    """Read it and write what it is."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    source, folder = Path(file), Path(into)
    try:
        if kind == FOR_TERMINAL:
            told = read_for_terminal(source, folder)
        elif kind.startswith(FOR_PIXELS):
            width, _, height = kind.removeprefix(FOR_PIXELS).partition("x")
            told = read_for_pixels(source, folder, int(width), int(height))
        elif kind.startswith("image/"):
            told = read_picture(source, folder)
        elif kind.startswith("audio/"):
            told = read_sound(source, kind)
        else:
            told = read_pdf(source, folder)
    except Refused as refused:
        told = {"refused": str(refused)}
    except (MemoryError, RecursionError):
        told = {"refused": "takes too much memory to read"}
    (folder / TOLD).write_text(json.dumps(told), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:4]))
