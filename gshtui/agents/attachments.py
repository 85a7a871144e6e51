"""Files that go along with a prompt: images and PDFs become blocks, anything else is refused with a reason."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterable
from pathlib import Path

from gshtui.bus.messages import Block, Document, Image
from gshtui.providers.port import ProviderError

_MAX_BYTES = 20 * 1024 * 1024
_IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


def attached(paths: Iterable[str]) -> tuple[Block, ...]:
    """Read the files.

    Raises:
        ProviderError: (`bad_request`) one can't be read, is too large, or is of a kind that no provider takes.
    """
    return tuple(_block(Path(path)) for path in paths)


def _block(path: Path) -> Block:
    media_type = mimetypes.guess_type(path.name)[0] or ""
    if media_type not in _IMAGES and media_type != "application/pdf":
        raise ProviderError(
            "bad_request", f"{path} is neither an image nor a PDF.", hint="Name text files with @ instead."
        )
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise ProviderError("bad_request", f"{path} has {size:,} bytes; {_MAX_BYTES:,} can be attached.")
        data = base64.b64encode(path.read_bytes()).decode()
    except OSError as error:
        raise ProviderError("bad_request", f"{path} can't be attached: {error.strerror}.") from error
    if media_type in _IMAGES:
        return Image(media_type, data, path.name)
    return Document(media_type, data, path.name)
