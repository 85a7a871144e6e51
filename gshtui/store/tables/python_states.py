"""The files with the variables of Python: one for each agent in each conversation, private, gone with the conversation.

What is in them is never read here.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from pathlib import Path

from gshtui.settings import paths
from gshtui.system.files import private_files

FOLDER = "python-states"


def read(session: str, agent: str) -> bytes:
    """What was kept; empty: nothing. Raises `OSError`."""
    try:
        return _file(session, agent).read_bytes()
    except FileNotFoundError:
        return b""


def write(session: str, agent: str, data: bytes) -> None:
    """Keep it instead of what was kept before. Raises `OSError`."""
    path = _file(session, agent)
    private_files.make_folder(path.parent)
    private_files.write_whole(path, data)


def remove(session: str, agent: str) -> None:
    """Keep nothing of this agent any more."""
    with contextlib.suppress(OSError):
        _file(session, agent).unlink()


def remove_all(session: str) -> None:
    """Keep nothing of this conversation any more."""
    shutil.rmtree(_folder(session), ignore_errors=True)


def _file(session: str, agent: str) -> Path:
    return _folder(session) / _key(agent)


def _folder(session: str) -> Path:
    return paths.data_dir(create=False) / FOLDER / _key(session)


def _key(name: str) -> str:
    return hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=16).hexdigest()
