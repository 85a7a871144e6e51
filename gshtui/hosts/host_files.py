"""Files on another machine, by path: read, written and copied through its link, with plain POSIX programs there.

A file is written beside its place and moved there, so what breaks off leaves the old one. Sizes are limited: what is
longer is refused before it is sent, never cut in silence.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLink, HostReply
from gshtui.text.sanitise import literal, one_line

MOST = 64_000_000
"""Bytes of a file that is copied."""
_COPY_WITHIN = 300.0

_PLACE = r"""
case "$1" in '~') file=$HOME ;; '~/'*) file=$HOME/${1#??} ;; *) file=$1 ;; esac
case "$file" in -*) file=./$file ;; esac
"""
_READ = (
    _PLACE
    + r"""
if [ -d "$file" ]; then ls -la -- "$file"; exit 64; fi
if [ ! -e "$file" ]; then exit 66; fi
if [ ! -f "$file" ]; then exit 67; fi
bytes=$(wc -c <"$file") || exit 68
if [ "$bytes" -gt "$2" ]; then echo "$bytes"; exit 65; fi
cat -- "$file"
"""
)
_WRITE = (
    _PLACE
    + r"""
if [ -d "$file" ]; then exit 64; fi
[ -L "$file" ] && file=$(readlink -f -- "$file" 2>/dev/null || echo "$file")
part=$file.gsh-$$
umask 077
trap 'rm -f -- "$part"' EXIT HUP TERM INT
if [ -e "$file" ]; then cp -p -- "$file" "$part" || exit 68; else umask 022; fi
cat >"$part" || exit 68
bytes=$(wc -c <"$part")
if [ "$bytes" -ne "$2" ]; then echo "only $bytes of $2 bytes arrived" >&2; exit 69; fi
mv -f -- "$part" "$file" || exit 68
"""
)


async def read_remote_file(link: HostLink, path: str, most: int = MOST) -> tuple[bytes, bool]:
    """The content of a file, or the listing of a folder, and whether it is one. Raises `HostError`."""
    reply = await link.run(_READ, path, str(most), deadline=_COPY_WITHIN, most=most + 1)
    if reply.status == 65:
        has = one_line(reply.output.decode("ascii", "replace")).strip()
        text = f"{_shown(link, path)} has {has} bytes, which is more than the {most:,} that are read."
        raise HostError("failed", text, "Read a part of it: `head`, `tail` or `sed -n` with `run`.")
    if reply.status not in (0, 64):
        raise _failed(link, path, reply)
    return reply.output, reply.status == 64


async def write_remote_file(link: HostLink, path: str, content: bytes) -> None:
    """Write a file whole; a new one is readable by others, an old one keeps its mode. Raises `HostError`."""
    if len(content) > MOST:
        raise HostError("failed", f"That is {len(content):,} bytes; {MOST:,} are written.", "Use scp for it.")
    reply = await link.run(_WRITE, path, str(len(content)), stdin=content, deadline=_COPY_WITHIN)
    if reply.status == 64:
        raise HostError("failed", f"{_shown(link, path)} is a folder.", "Name the file.")
    if reply.status:
        raise _failed(link, path, reply)


async def fetch_file(link: HostLink, path: str, to: Path) -> int:
    """Copy a file from there; the number of its bytes. Raises `HostError`, `OSError`."""
    content, is_folder = await read_remote_file(link, path)
    if is_folder:
        raise HostError("failed", f"{_shown(link, path)} is a folder.", "Name a file; `tar` makes one of it.")
    await asyncio.to_thread(to.write_bytes, content)
    return len(content)


def _shown(link: HostLink, path: str) -> str:
    return f"{link.name}:{one_line(literal(path), 200)}"


def _failed(link: HostLink, path: str, reply: HostReply) -> HostError:
    said = one_line(literal(reply.errors.decode("utf-8", "replace")), 200).strip()
    shown = _shown(link, path)
    if reply.status == 66:
        return HostError("failed", f"There is no {shown}.", "Check the path; `ls` with `run` shows what is there.")
    if reply.status == 67:
        return HostError("failed", f"{shown} is no ordinary file.", "Only files are read and written.")
    return HostError("failed", f"{shown}: {said or f'it failed with status {reply.status}'}.")
