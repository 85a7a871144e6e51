"""Bundles: rules for reading programs, apart from releases. A signed file, read, verified and kept here.

A bundle is TOML with a table of changes for each profile, as overlays have them, and a minisign signature beside it
(`NAME.minisig`). It is for one release of gsh-tui: a later one has its repairs, or needs others. The versions of a
person are kept in a folder of their profiles; a file beside it names those that have counted, the last of which does.
What a bundle may change is checked by those who take one (`profile_updates.py`). Functions block.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gshtui import __version__
from gshtui.programs.profiles.profile_overlay import Table, overlaid
from gshtui.settings.toml_file import load_toml, read_bytes
from gshtui.system.files import private_files
from gshtui.system.json_types import is_array, is_object, obj, objects, seq

PROJECT_KEYS: tuple[str, ...] = ()
"""The project's own public keys, as minisign writes them. There is none yet."""
FORMAT = 1
LARGEST = 1_000_000
"""Bytes of a bundle."""
SIGNATURE = ".minisig"
USED = "updates.used"
"""The file that names the versions that have counted, one a line."""
_FOLDER = "updates"
_KEYS = ("format", "version", "release", "profiles")
_VERSION = re.compile(r"[0-9]{1,8}(?:\.[0-9]{1,8}){0,3}")
_KEY, _PLAIN, _HASHED = b"Ed", b"Ed", b"ED"
_ID, _LONG = 8, 64
"""Bytes of a key's id and of a signature."""


class BundleError(Exception):
    """A bundle cannot be used; one sentence."""


class Bundle(msgspec.Struct, frozen=True):
    """A bundle that has been read. That it is signed, and what it may change, is checked elsewhere."""

    version: str
    release: str
    """The release of gsh-tui that it is for."""
    profiles: Mapping[str, Table]
    """Name → changes."""
    data: bytes = b""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def verify(data: bytes, signature: bytes, keys: Iterable[str]) -> None:
    """See that one of these keys has signed this. Raises `BundleError`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    trusted = dict(map(_public_key, keys))
    if not trusted:
        message = (
            "No key is trusted to sign rules; `[programs] rule_keys` lists minisign's public keys of those who may."
        )
        raise BundleError(message)
    lines = signature.decode("utf-8", "replace").splitlines()
    raw = _decoded(lines[1]) if len(lines) > 1 else b""
    kind, key, signed = raw[:2], raw[2 : 2 + _ID], raw[2 + _ID :]
    if kind not in (_PLAIN, _HASHED) or len(signed) != _LONG or len(lines) < 4:
        raise BundleError("Its signature is not one that minisign makes.")
    if key not in trusted:
        raise BundleError("It is signed by a key that is not trusted; `[programs] rule_keys` lists those that are.")
    comment = lines[2].removeprefix("trusted comment: ").encode()
    public = Ed25519PublicKey.from_public_bytes(trusted[key])
    try:
        public.verify(signed, hashlib.blake2b(data).digest() if kind == _HASHED else data)
        public.verify(_decoded(lines[3]), signed + comment)
    except InvalidSignature as error:
        raise BundleError("Its signature is wrong: it is not what was signed.") from error


def _public_key(key: str) -> tuple[bytes, bytes]:
    raw = _decoded(key.strip())
    if raw[:2] != _KEY or len(raw) != 2 + _ID + 32:
        raise BundleError(f"The trusted key {key.strip()[:60]!r} is no public key of minisign.")
    return raw[2 : 2 + _ID], raw[2 + _ID :]


def _decoded(text: str) -> bytes:
    with contextlib.suppress(binascii.Error, ValueError):
        return base64.b64decode(text, validate=True)
    return b""


def parse(data: bytes) -> Bundle:
    """Read a bundle. Raises `BundleError`."""
    if len(data) > LARGEST:
        raise BundleError(f"It is larger than {LARGEST // 1_000_000} MB.")
    try:
        tables = load_toml(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BundleError(f"It is not valid TOML: {error}.") from error
    shape = tables.get("format")
    if isinstance(shape, int) and shape > FORMAT:
        raise BundleError(f"It is of format {shape}, which a newer gsh-tui reads; this one reads format {FORMAT}.")
    version, release, profiles = tables.get("version"), tables.get("release"), tables.get("profiles")
    if shape != FORMAT or not isinstance(release, str) or not is_object(profiles):
        raise BundleError(
            "It is no bundle of rules: it needs `format`, `version`, `release` and [profiles.NAME] tables."
        )
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise BundleError("Its version must be numbers with dots between them, such as 2026.11.28.")
    if unknown := next((key for key in tables if key not in _KEYS), ""):
        raise BundleError(f"It has `{unknown}`, and may have {', '.join(_KEYS)} alone.")
    if wrong := next((name for name, changes in profiles.items() if not is_object(changes)), ""):
        raise BundleError(f"Its profiles.{wrong} is no table.")
    return Bundle(version, release, profiles, data)


def changed(tables: Mapping[str, Any], changes: Mapping[str, Any]) -> Table:
    """A profile's tables with a bundle's changes. Its modes are changed by their names, as rules are: what starts the
    program in one stays. Raises `OverlayError`.
    """
    own = dict(changes)
    modes = own.get("modes")
    if is_object(modes) and is_array(each := modes.get("each")):
        below = seq(obj(tables.get("modes")).get("each"))
        named = {mode.get("name"): mode for mode in objects(each)}
        merged = [{**mode, **named.pop(mode.get("name"), {})} for mode in below]
        own["modes"] = {**modes, "each": [*merged, *named.values()]}
    return overlaid(tables, own)


# -- those of a person ---------------------------------------------------------------------------------------------


def used(folder: Path) -> list[str]:
    """The versions that have counted, in order; the last one does now. `folder`: of the person's profiles."""
    try:
        lines = (read_bytes(folder / USED) or b"").decode("utf-8", "replace").split()
    except OSError:
        return []
    return [line for line in lines if _VERSION.fullmatch(line)]


def bundle_file(folder: Path, version: str) -> Path:
    return folder / _FOLDER / f"{version}.toml"


def current(folder: Path) -> tuple[Path, Bundle] | None:
    """The bundle that counts, and its file; `None`: there is none. Raises `BundleError`."""
    versions = used(folder)
    if not versions:
        return None
    path = bundle_file(folder, versions[-1])
    try:
        bundle = parse(read_bytes(path) or b"")
    except (OSError, BundleError) as error:
        raise BundleError(f"The rules in {path} do not count: {error}") from error
    if bundle.release != __version__:
        raise BundleError(
            f"The rules {bundle.version} are for gsh-tui {bundle.release}, so they do not count in {__version__}; "
            "`profiles update --undo` removes them."
        )
    return path, bundle


def use(folder: Path, bundle: Bundle, signature: bytes) -> None:
    """Keep a bundle, and have it count. Raises `OSError`."""
    path = bundle_file(folder, bundle.version)
    private_files.make_folder(path.parent)
    private_files.write_whole(path, bundle.data)
    private_files.write_whole(path.with_name(path.name + SIGNATURE), signature)
    _note(folder, [*used(folder), bundle.version])


def undo(folder: Path) -> str:
    """Have the version before count again; the one that no longer does. Raises `OSError`."""
    *before, last = used(folder)
    _note(folder, before)
    return last


def _note(folder: Path, versions: Sequence[str]) -> None:
    private_files.make_folder(folder)
    private_files.write_whole(folder / USED, "".join(f"{version}\n" for version in versions).encode())
