"""Files on another machine, by path: read and written through its link, with plain POSIX programs there.

A file is written beside its place and moved there, so what breaks off leaves the old one. Sizes are limited: what is
longer is refused before it is sent, never cut in silence. Commands run tied to us: cut off, they end.
"""

from __future__ import annotations

from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLink, HostReply
from gshtui.hosts.remote_shell import path_line
from gshtui.text.sanitise import literal, one_line

MOST = 64_000_000
"""Bytes of a file that is copied."""
_COPY_WITHIN = 300.0

_PLACE = r"""
case "$1" in '~') file=$HOME ;; '~/'*) file=$HOME/${1#??} ;; *) file=$1 ;; esac
case "$file" in -*) file=./$file ;; esac
if [ "$3" = plain ]; then
    real=$(readlink -f -- "$file" 2>/dev/null || echo "$file")
    if [ "$real" != "$file" ]; then printf '%s' "$real"; exit 70; fi
fi
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


_RUN = (
    path_line(())
    + r"""
case "$1" in '') cd ;; '~') cd ;; '~/'*) cd -- "$HOME/${1#??}" ;; *) cd -- "$1" ;; esac 2>/dev/null || exit 250
command=$2
# Bash takes a command from sshd for one that wants its start-up file.
if shell=$(command -v bash); then set -- --norc --noprofile; else shell=/bin/sh; set --; fi
exec 3<&0
if command -v setsid >/dev/null 2>&1; then setsid "$shell" "$@" -c "$command" </dev/null 2>&1 3<&- & else
    set -m
    "$shell" "$@" -c "$command" </dev/null 2>&1 3<&- &
fi
job=$!
{ cat <&3 >/dev/null; kill -TERM -"$job"; sleep 1; kill -KILL -"$job"; } >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait "$job"
status=$?
kill "$watch" 2>/dev/null
exit "$status"
"""
)
NO_FOLDER = 250
"""The status of a command whose folder there is not."""


async def run_remote_command(link: HostLink, command: str, folder: str, *, deadline: float, most: int) -> HostReply:
    """Run a command line in bash there, or in sh, with its errors among its output; cut off, it is ended there.
    `folder`: where; empty: the home folder. `most`: bytes of output that are kept; one that prints more is ended.
    Raises `HostError`: no connection, no such folder, or no end in time.
    """
    reply = await link.run(_RUN, folder, command, deadline=deadline, most=most, tied=True)
    if reply.status == NO_FOLDER and not reply.output:
        raise HostError("failed", f"There is no folder {_shown(link, folder)}.", "Choose another one there.")
    return reply


async def read_remote_file(link: HostLink, path: str, most: int = MOST, *, plain: bool = False) -> tuple[bytes, bool]:
    """The content of a file, or the listing of a folder, and whether it is one. `plain`: refuse a path that leads
    elsewhere, through a link or `..`. Raises `HostError`: it cannot be read.
    """
    words = (path, str(most), "plain" if plain else "")
    reply = await link.run(_READ, *words, deadline=_COPY_WITHIN, most=most + 1)
    if reply.status == 65:
        has = one_line(reply.output.decode("ascii", "replace")).strip()
        text = f"{_shown(link, path)} has {has} bytes, which is more than the {most:,} that are read."
        raise HostError("failed", text, "Read a part of it: `head`, `tail` or `sed -n` with `run`.")
    if reply.status not in (0, 64):
        raise _failed(link, path, reply)
    return reply.output, reply.status == 64


async def write_remote_file(link: HostLink, path: str, content: bytes, *, plain: bool = False) -> None:
    """Write a file whole; a new one is readable by others, an old one keeps its mode. `plain`: as for reading.
    Raises `HostError`: it cannot be written.
    """
    if len(content) > MOST:
        raise HostError("failed", f"That is {len(content):,} bytes; {MOST:,} are written.", "Use scp for it.")
    reply = await link.run(
        _WRITE, path, str(len(content)), "plain" if plain else "", stdin=content, deadline=_COPY_WITHIN
    )
    if reply.status == 64:
        raise HostError("failed", f"{_shown(link, path)} is a folder.", "Name the file.")
    if reply.status:
        raise _failed(link, path, reply)


def _shown(link: HostLink, path: str) -> str:
    return f"{link.name}:{one_line(literal(path), 200)}"


def _failed(link: HostLink, path: str, reply: HostReply) -> HostError:
    said = one_line(literal(reply.errors.decode("utf-8", "replace")), 200).strip()
    shown = _shown(link, path)
    if reply.status == 70:
        real = one_line(literal(reply.output.decode("utf-8", "replace")), 300)
        return HostError("failed", f"{shown} leads to {real}.", "Name that path itself.")
    if reply.status == 66:
        return HostError("failed", f"There is no {shown}.", "Check the path; `ls` with `run` shows what is there.")
    if reply.status == 67:
        return HostError("failed", f"{shown} is no ordinary file.", "Only files are read and written.")
    return HostError("failed", f"{shown}: {said or f'it failed with status {reply.status}'}.")
