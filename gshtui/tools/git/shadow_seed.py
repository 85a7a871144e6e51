"""What a new shadow repository takes over from the person's own, so that the first checkpoint need not read every file.

Objects are hard links, so they stay when the person's repository drops them; the index is a copy with what git knows of
the files on disk. Taken over is only what is the file byte for byte. Where anything is unusual, nothing is taken over.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from gshtui.system.files import private_files
from gshtui.tools.git.git import git

LINKED = "linked"
"""The file that names the packs that are links."""
_FEWEST = 500
"""Files for which it is worth the while."""
_MOST_OBJECTS = 400_000
"""Loose objects that are linked."""
_UNUSUAL = (b"link", b"sdir", b"FSMN")
"""Extensions of an index that is not whole."""
_CONVERTED = ":(top,exclude,attr:!filter !ident !working-tree-encoding)"
"""All files but those that a program or git itself may convert without changing their size."""

RunGit = Callable[..., Awaitable[bytes]]


async def seed(shadow: Path, folder: Path, run: RunGit, most_bytes: int) -> bool:
    """Give a new shadow repository the objects and the index of the folder's own; whether there was anything to take.

    Args:
        run: runs git in the shadow.
        most_bytes: of a file; larger ones are left out.

    Raises `ExpectedError`: git failed; `OSError`: the folder's own repository is not readable, or on another disk.
    """
    words = ("--path-format=absolute", "--show-object-format", "--git-path", "index", "--git-path", "objects")
    asked = await git(folder, "rev-parse", *words)
    said = asked.out.split("\n")
    if asked.code or said[0] != "sha1":
        return False
    index, objects = Path(said[1]), Path(said[2])
    if not await asyncio.to_thread(_is_usual, index, objects):
        return False
    converted = await git(folder, "ls-files", "-z", "--", _CONVERTED)
    if converted.code or converted.cut:
        return False
    await asyncio.to_thread(_link_objects, objects, shadow)
    await asyncio.to_thread(
        shutil.copy2, index, shadow / "index"
    )  # its time tells git whose files may have changed since
    entries = _entries(await run("ls-files", "-z", "-v", "-s"))
    sizes = await run("cat-file", "--batch-check=%(objecttype) %(objectsize)", given=_lines(id for _, id, _ in entries))
    wrong = await asyncio.to_thread(_wrong, folder, entries, sizes.decode().split("\n"), most_bytes)
    wrong |= set(converted.out.split("\0")) - {""}
    if wrong:
        given = b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in wrong)
        await run("update-index", "-z", "--force-remove", "--stdin", given=given)
    return True


def _is_usual(index: Path, objects: Path) -> bool:
    if (objects / "info" / "alternates").exists() or any(objects.glob("pack/*.promisor")):
        return False
    data = index.read_bytes()
    return int.from_bytes(data[8:12], "big") >= _FEWEST and not any(sign in data for sign in _UNUSUAL)


def _link_objects(objects: Path, shadow: Path) -> None:
    """Link all objects into the shadow. Raises `OSError`: they are too many, or cannot be linked."""
    count = 0
    packs: list[str] = []
    for folder in sorted(objects.iterdir()):
        if folder.name != "pack" and len(folder.name) != 2:
            continue
        private_files.make_folder(shadow / "objects" / folder.name)
        for file in os.scandir(folder):
            if file.name.startswith("tmp_") or file.name.endswith((".keep", ".lock")):
                continue
            count += 1
            if count > _MOST_OBJECTS:
                raise OSError("too many objects")
            target = shadow / "objects" / folder.name / file.name
            if not target.exists():
                os.link(file.path, target, follow_symlinks=False)
            packs += [file.name] if file.name.endswith(".pack") else []
    private_files.write_whole(shadow / LINKED, "".join(f"{name}\n" for name in packs).encode())


def _entries(listed: bytes) -> list[tuple[str, str, str]]:
    """(tag and mode and stage, id, name) of each entry of an index."""
    found: list[tuple[str, str, str]] = []
    for line in listed.decode("utf-8", "surrogateescape").split("\0"):
        fields, _, name = line.partition("\t")
        if name:
            tag, mode, id, stage = fields.split(" ")
            found.append((f"{tag} {mode} {stage}", id, name))
    return found


_USUAL = frozenset(("H 100644 0", "H 100755 0", "H 120000 0"))


def _wrong(folder: Path, entries: list[tuple[str, str, str]], sizes: list[str], most_bytes: int) -> set[str]:
    """Names of entries that are not the file byte for byte as git left it, or are not to be kept. Blocks."""
    wrong: set[str] = set()
    for (kind, _, name), size in zip(entries, sizes, strict=False):
        try:
            found = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - many thousands of them
        except OSError:
            wrong.add(name)
            continue
        usual = kind in _USUAL and size == f"blob {found.st_size}" and found.st_size <= most_bytes
        if not usual or not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            wrong.add(name)
    return wrong


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{id}\n" for id in ids).encode()
