"""Our package on another machine, for the tools of native agents there: brought, examined and removed on request.

It is a folder below the person's data folder there: our source, the packages that the tools need where that machine's
Python lacks them, and a script that starts it. They are copied from here if both machines are alike, and fetched by pip
there if not. A package that is not complete never takes the place of one that is.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import io
import shlex
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

import msgspec

import gshtui
from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLink
from gshtui.hosts.remote_shell import LOGIN_PATH, path_line
from gshtui.system.struct_types import learned
from gshtui.text.sanitise import literal, one_line

DISTRIBUTIONS = (
    *("pydantic", "pydantic-core", "pydantic-settings", "annotated-types", "typing-extensions", "typing-inspection"),
    *("python-dotenv", "msgspec", "psutil", "PyYAML", "regex", "tree-sitter", "tree-sitter-bash"),
)
"""What the tools load of others, with what those need."""
_NOT_NEEDED = frozenset({"ui", "styles"})
"""Rooms that stay here: they are the window."""
_LEAST = (3, 11)
_COPY_WITHIN = 600.0
_FETCH_WITHIN = 900.0
MISSING = 66
"""The status of a call where there is no package of this version."""

PLACE = r"""
base=${XDG_DATA_HOME:-$HOME/.local/share}/gsh/tools
"""
_EXAMINE = (
    PLACE
    + r"""
for one in "$base"/*/build; do
    [ -f "$one" ] || continue
    folder=${one%/build}
    printf 'installed=%s %s %s\n' "${folder##*/}" "$(cat "$one")" "$(cat "$folder/python" 2>/dev/null)"
done
for one in $pythons; do
    if found=$(command -v "$one") && facts=$("$found" -P -c "$probe" 2>/dev/null); then
        printf 'python=%s\nfacts=%s\n' "$found" "$facts"
        break
    fi
done
"""
)
_PROBE = f"""
import importlib.metadata, json, sys, sysconfig
if sys.version_info < {_LEAST!r}: raise SystemExit(1)
def version(name):
    try: return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError: return ""
print(json.dumps([sys.version.split()[0], sys.implementation.cache_tag, sysconfig.get_platform(),
    dict((one, version(one)) for one in {DISTRIBUTIONS!r})]))
"""
_INSTALL = (
    PLACE
    + r"""
version=$1 python=$2
shift 2
umask 077
mkdir -p "$base" || exit 68
new=$(mktemp -d "$base/.new-XXXXXX") || exit 68
trap 'rm -rf "$new"; rmdir "$base" "${base%/*}" 2>/dev/null' EXIT HUP TERM INT
tar -xzf - -C "$new" || exit 68
printf '%s\n' "$python" >"$new/python" || exit 68
if [ "$#" -gt 0 ]; then
    "$python" -P -m pip install -q --disable-pip-version-check --no-input --target "$new/lib" "$@" >&2 ||
        uv pip install -q --python "$python" --target "$new/lib" "$@" >&2 || exit 69
fi
"$python" -P "$new/tools.py" check >/dev/null || exit 70
old=$new.old
[ ! -e "$base/$version" ] || mv "$base/$version" "$old" || exit 68
mv "$new" "$base/$version" || { [ ! -e "$old" ] || mv "$old" "$base/$version"; exit 68; }
rm -rf "$old" || :
"""
)
_REMOVE = (
    PLACE
    + r"""
for one in "$base"/*/tools.py; do
    [ -f "$one" ] || continue
    "$(cat "${one%/*}/python")" -P "$one" end-all </dev/null >/dev/null 2>&1
done
[ -d "$base" ] || exit 66
rm -rf "$base"
"""
)
_CALL = (
    PLACE
    + r"""
at=$base/$1
[ -f "$at/tools.py" ] || exit 66
shift
read -r python <"$at/python"
cd / && exec "$python" -P "$at/tools.py" "$@"
"""
)
_LAUNCHER = """\
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "app"), os.path.join(here, "lib")]
sys.dont_write_bytecode = False
from gshtui.headless.servers.tool_process import main

raise SystemExit(main(sys.argv[1:]))
"""


class HostPackage(msgspec.Struct, frozen=True):
    """What there is of ours on a machine, and what it could be installed with.

    Attributes:
        installed: the versions there.
        same: this version, as it is here, is among them.
        python: the Python that would run it; empty: there is none that is new enough.
        python_version: of that.
        source: where the packages that it needs would come from: `there`, copied from `here`, or `pip` there.
        compiled: it takes what our Python has compiled.
    """

    installed: tuple[str, ...]
    same: bool
    python: str
    python_version: str
    source: str
    compiled: bool = False


async def examine_package(link: HostLink) -> HostPackage:
    """What there is; changes nothing. Raises `HostError`."""
    named = link.settings.python
    pythons = named or "python3 python3.14 python3.13 python3.12 python3.11"
    head = f"{path_line(link.settings.path)}{LOGIN_PATH}pythons={shlex.quote(pythons)}\nprobe={shlex.quote(_PROBE)}\n"
    reply = await link.run(head + _EXAMINE, deadline=30.0)
    installed: dict[str, str] = {}
    python, facts = "", None
    for line in reply.output.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition("=")
        if name == "installed" and len(words := value.split(" ", 2)) == 3:
            installed[one_line(literal(words[0]), 60)] = words[1]
        elif name == "python":
            python = one_line(literal(value), 300)
        elif name == "facts":
            facts = _facts(value)
    same = installed.get(gshtui.__version__) == build()
    if facts is None:
        return HostPackage(tuple(installed), same, "", "", "")
    version, tag, system, found = facts
    has_all = all(found.get(name) == wanted for name, wanted in _versions().items())
    alike = (tag, system) == (sys.implementation.cache_tag, sysconfig.get_platform())
    source = "there" if has_all else "here" if alike else "pip"
    shown = one_line(literal(version), 20)
    return HostPackage(tuple(installed), same, python, shown, source, tag == sys.implementation.cache_tag)


async def install_package(link: HostLink, found: HostPackage) -> None:
    """Bring this version there, as `found` says. Raises `HostError`; then what was there still is."""
    if not found.python:
        least = ".".join(map(str, _LEAST))
        hint = f"Name one as `python` of this host in the configuration; {least} or newer is needed."
        raise HostError("missing", f"There is no Python {least} or newer on {link.name}.", hint)
    reply = await _install(link, found, found.source)
    if reply and found.source == "here":  # alike by name, but not quite
        reply = await _install(link, found, "pip")
    if reply:
        raise HostError("failed", f"gsh-tui could not be installed on {link.name}: {reply}.", _HINT)


_HINT = "Nothing was changed there. Without a network, name a Python that has the packages as `python` of this host."


async def _install(link: HostLink, found: HostPackage, source: str) -> str:
    """Why it failed; empty: it did not. Raises `HostError` without an answer."""
    wanted = [f"{name}=={version}" for name, version in _versions().items()] if source == "pip" else []
    script = path_line(link.settings.path) + LOGIN_PATH + _INSTALL
    archive = await asyncio.to_thread(_archive, source == "here", found.compiled)
    within = _FETCH_WITHIN if wanted else _COPY_WITHIN
    words = (gshtui.__version__, found.python, *wanted)
    reply = await link.run(script, *words, stdin=archive, deadline=within)
    if not reply.status:
        return ""
    said = reply.errors.decode("utf-8", "replace").strip().splitlines()
    return one_line(literal(said[-1] if said else f"it ended with the status {reply.status}"), 300).rstrip(".")


async def remove_package(link: HostLink) -> bool:
    """End what runs of it there, and remove it with all its versions; whether there was one. Raises `HostError`."""
    reply = await link.run(_REMOVE, deadline=60.0)
    if reply.status not in (0, MISSING):
        said = one_line(literal(reply.errors.decode("utf-8", "replace")), 200).strip().rstrip(".")
        raise HostError("failed", f"gsh-tui could not be removed from {link.name}: {said}.")
    return not reply.status


def call_script(link: HostLink) -> str:
    """The script that calls this version there, with its words as arguments; `MISSING` is its status without one."""
    return f'{path_line(link.settings.path)}{LOGIN_PATH}set -- {shlex.quote(gshtui.__version__)} "$@"\n{_CALL}'


async def check_package(link: HostLink) -> None:
    """See to it that this version is there. Raises `HostError`."""
    reply = await link.run(call_script(link), "version", deadline=30.0)
    if reply.status == MISSING:
        raise not_installed(link)
    if reply.status:
        said = one_line(literal(reply.errors.decode("utf-8", "replace")), 300).strip().rstrip(".")
        raise HostError("failed", f"gsh-tui does not start on {link.name}: {said}.", not_installed(link).hint)


def not_installed(link: HostLink) -> HostError:
    """The error of a call where there is none."""
    hint = f"`gsh-tui host install {link.name}` brings it there, after a question."
    return HostError("missing", f"gsh-tui {gshtui.__version__} is not installed on {link.name}.", hint)


def build() -> str:
    """What tells our source from another one of the same version."""
    digest = hashlib.sha256()
    for name, path in _source():
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in DISTRIBUTIONS}


def _source() -> Iterator[tuple[str, Path]]:
    root = Path(gshtui.__file__).parent
    for path in sorted(root.rglob("*")):
        inner = path.relative_to(root)
        if path.is_file() and "__pycache__" not in inner.parts and inner.parts[0] not in _NOT_NEEDED:
            yield f"gshtui/{inner}", path


def _libraries() -> Iterator[tuple[str, Path]]:
    for name in DISTRIBUTIONS:
        distribution = importlib.metadata.distribution(name)
        for file in distribution.files or ():
            path = Path(str(distribution.locate_file(file)))
            if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
                yield str(file), path


def _archive(with_libraries: bool, compiled: bool) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w:gz", compresslevel=3) as tar:
        for name, path in _source():
            tar.add(path, f"app/{name}", recursive=False, filter=_plain)
            if compiled and path.suffix == ".py" and (cached := Path(cache_from_source(str(path)))).exists():
                folder = name.rpartition("/")[0]
                tar.add(cached, f"app/{folder}/__pycache__/{cached.name}", recursive=False, filter=_plain)
        for name, path in _libraries() if with_libraries else ():
            tar.add(path, f"lib/{name}", recursive=False, filter=_plain)
        for name, text in (("tools.py", _LAUNCHER), ("build", build() + "\n")):
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(_plain(entry), io.BytesIO(text.encode()))
    return into.getvalue()


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o700 if entry.mode & 0o100 else 0o600
    return entry


def _facts(text: str) -> tuple[str, str, str, dict[str, str]] | None:
    """Version, kind and system of a Python, and the versions of the packages that it has."""
    try:
        return msgspec.json.decode(text, type=learned(tuple[str, str, str, dict[str, str]]))
    except (msgspec.DecodeError, UnicodeError):
        return None
