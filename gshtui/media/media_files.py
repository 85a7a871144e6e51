"""The files of pictures, documents and sounds: each kept once, under the hash of its bytes, in the record's folder.

Private to the user. The log names them by their key alone; a key that leads nowhere gives no bytes.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import time
from collections.abc import Collection
from pathlib import Path

from gshtui.bus.messages import Audio, Document, Image
from gshtui.settings import paths
from gshtui.system.files import private_files

FOLDER = "media"
_SETTLED = 600.0
"""Seconds after which a file that no conversation uses was not kept for a message that is about to be recorded."""
_KEY = re.compile(r"[0-9a-f]{32}")


def folder() -> Path:
    """Where they are. It need not exist."""
    return paths.data_dir(create=False) / FOLDER


def keep(data: bytes) -> str:
    """Keep the bytes and return their key. Raises `OSError`."""
    key = hashlib.blake2b(data, digest_size=16).hexdigest()
    path = folder() / key
    try:
        os.utime(path)  # in use anew, though the record does not know it yet
    except OSError:
        private_files.make_folder(path.parent)
        private_files.write_whole(path, data)
    return key


def read(key: str) -> bytes:
    """The bytes of a key; none if it is no key, or they are gone or damaged."""
    if not _KEY.fullmatch(key):
        return b""
    try:
        data = (folder() / key).read_bytes()
    except OSError:
        return b""
    return data if hashlib.blake2b(data, digest_size=16).hexdigest() == key else b""


def drop_unused(used: Collection[str]) -> int:
    """Delete all files but those of these keys and those of the last minutes; returns how many went."""
    gone = 0
    before = time.time() - _SETTLED
    try:
        found = [path for path in folder().iterdir() if _KEY.fullmatch(path.name) and path.name not in used]
    except OSError:
        return 0
    for path in found:
        try:
            if path.stat().st_mtime < before:
                path.unlink()
                gone += 1
        except OSError:
            continue  # the next removal of a conversation tries again
    return gone


def content(block: Image | Document | Audio) -> bytes:
    """The bytes of a picture, document or sound; none if they are gone or damaged."""
    if block.key:
        return read(block.key)
    try:
        return base64.b64decode(block.data, validate=True)
    except ValueError:
        return b""


def encoded(block: Image | Document | Audio) -> str:
    return base64.b64encode(content(block)).decode()


def size(block: Image | Document | Audio) -> int:
    """Its bytes, without reading them."""
    return block.bytes or len(block.data) * 3 // 4 - block.data[-2:].count("=")


def keys(block: Image | Document | Audio) -> list[str]:
    """The keys of all files that it is kept in."""
    found = (block.key, block.small if isinstance(block, Image) else block.text if isinstance(block, Document) else "")
    return [key for key in found if key]
