"""Who may enter over SSH: one public key a line, in OpenSSH's format, with a person's name behind it and their rights.

The file is the person's own (`$XDG_CONFIG_HOME/gsh/people`), readable and writable only by its owner. Refuses names
that are somebody else's, and a key that is there twice. A line that is wrong lets nobody in and is reported.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.bus.agent_data import RESERVED_NAMES
from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.text.plain_name import shape
from gshtui.text.sanitise import one_line

Rights = Literal["talk", "all"]
"""talk: calls and what is said there. all: whatever the person at the keyboard may do."""
KEY_TYPES = (
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
)
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_LARGEST = 256 * 1024
"""Bytes of the file that are read."""


class AuthorizedPerson(msgspec.Struct, frozen=True):
    """Somebody with a key."""

    name: str
    key_type: str
    key: str
    """Base64, as in the file."""
    rights: Rights = "talk"

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it."""
        digest = hashlib.sha256(base64.b64decode(self.key)).digest()
        return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"

    @property
    def line(self) -> str:
        return f"rights={self.rights} {self.key_type} {self.key} {self.name}"


class PeopleFile(msgspec.Struct, frozen=True):
    """What stands in the file."""

    people: tuple[AuthorizedPerson, ...] = ()
    mistakes: tuple[str, ...] = ()
    """One sentence for each line that lets nobody in."""

    def find(self, key_type: str, key: str) -> AuthorizedPerson | None:
        return next((one for one in self.people if (one.key_type, one.key) == (key_type, key)), None)


class PeopleError(Exception):
    """The key or name cannot be used; one sentence."""


def people_file(*, create: bool = False) -> Path:
    """Where the list is. Raises `FolderError`."""
    return paths.config_dir(create=create) / "people"


def read_people(path: Path) -> PeopleFile:
    """Read the list; a missing file lets nobody in. Raises `OSError`."""
    try:
        with path.open("rb") as file:
            status = path.stat()
            if status.st_mode & 0o022:
                return PeopleFile(mistakes=(f"{path} can be written by others, so it lets nobody in: chmod 600 it.",))
            text = file.read(_LARGEST).decode(errors="replace")
    except FileNotFoundError:
        return PeopleFile()
    people: list[AuthorizedPerson] = []
    mistakes: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            people.append(person_of(line, people))
        except PeopleError as error:
            mistakes.append(f"{path}, line {number}: {error}")
    return PeopleFile(tuple(people), tuple(mistakes))


def people_names() -> list[str]:
    """Names of those who may enter, which no agent gets; none while the list cannot be read. Blocks for a moment."""
    try:
        return [one.name for one in read_people(people_file()).people]
    except (OSError, paths.FolderError):
        return []


def person_of(line: str, others: Sequence[AuthorizedPerson] = ()) -> AuthorizedPerson:
    """The person of a line of the file. Raises `PeopleError`."""
    words = line.split()
    rights: Rights = "talk"
    if words and words[0].startswith("rights="):
        given = words.pop(0).removeprefix("rights=")
        if given not in ("talk", "all"):
            raise PeopleError(f"the rights are `talk` or `all`, not {given[:20]!r}.")
        rights = given
    if len(words) < 3:
        raise PeopleError("a line is a key type, a key and a name: `ssh-ed25519 AAAA… amy`.")
    return new_person(" ".join(words[:2]), words[2], rights, others)


def new_person(
    key: str, name: str, rights: Rights, others: Sequence[AuthorizedPerson] = (), taken: Collection[str] = ()
) -> AuthorizedPerson:
    """Somebody with this public key (`ssh-ed25519 AAAA…`, a comment behind it is left out).

    Args:
        others: who is there already.
        taken: names that somebody else has here.

    Raises `PeopleError`: the key or the name cannot be used.
    """
    words = key.split()
    if len(words) < 2 or words[0] not in KEY_TYPES:
        raise PeopleError("that is no public key: it begins with `ssh-ed25519`, `ecdsa-sha2-…` or `ssh-rsa`.")
    if not _holds(words[0], words[1]):
        raise PeopleError(f"the {words[0]} key is not whole.")
    if not _NAME.fullmatch(name) or name in RESERVED_NAMES:
        raise PeopleError(f"{name[:40]!r} cannot be a person's name: use small letters, digits and `-`.")
    if (whose := alike(name, {*taken, *RESERVED_NAMES, *(one.name for one in others if one.name != name)})) is not None:
        why = "" if whose.lower() == name else f", which looks like {name}"
        raise PeopleError(f"somebody else is called {one_line(whose, 40)} here{why}.")
    for other in others:
        if other.key == words[1]:
            raise PeopleError(f"this key is {other.name}'s.")
    return AuthorizedPerson(name, words[0], words[1], rights)


def alike(name: str, taken: Collection[str]) -> str | None:
    """The one of these names that this one is, or could be taken for."""
    own = shape(name)
    return next((one for one in sorted(taken) if shape(one) == own), None)


def write_people(path: Path, people: Sequence[AuthorizedPerson]) -> None:
    """Replace the list. Raises `OSError`."""
    head = "# Who may enter over SSH: `gsh-tui people allow NAME KEY` adds somebody, `revoke NAME` removes them.\n"
    private_files.write_whole(path, (head + "".join(f"{one.line}\n" for one in people)).encode(), sync=True)


def _holds(key_type: str, key: str) -> bool:
    """Whether the base64 is a key of this type, whole."""
    try:
        blob = base64.b64decode(key, validate=True)
        (length,) = struct.unpack(">I", blob[:4])
    except (binascii.Error, ValueError, struct.error):
        return False
    return blob[4 : 4 + length] == key_type.encode() and len(blob) > 4 + length + 4
