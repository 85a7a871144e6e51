"""What a process passes on to those that it starts, besides its environment: its umask, and its limits on resources.

A hub works for faces with others than its own. Theirs are with the running work, as the environment is
(`caller_environment`): the processes that it starts get them, and the files that it makes for a person.
"""

from __future__ import annotations

import functools
import os
import re
import resource
import shutil
from collections.abc import Sequence
from pathlib import Path

from gshtui.system.caller_environment import Inherited, caller_inherited

_NAMES = {
    number: name.removeprefix("RLIMIT_").lower()
    for name, number in sorted(vars(resource).items())
    if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"
}
_LIMITS = tuple(sorted(_NAMES))
_CAP_SYS_RESOURCE = 24


def umask() -> int:
    """This process's umask. Call it where no other thread makes files: it can only be read by setting it."""
    now = os.umask(0o077)
    os.umask(now)
    return now


def limits() -> list[tuple[int, int]]:
    """The soft and the hard limit of each resource, in one order."""
    return [resource.getrlimit(number) for number in _LIMITS]


def unable_to_give(theirs: Sequence[tuple[int, int]]) -> bool:
    """Whether a process that this one starts cannot have these limits."""
    ours = limits()
    if list(theirs) == ours:
        return False
    if len(theirs) != len(ours) or _setter() is None:
        return True
    return any(_above(soft, most) for (soft, _), (_, most) in zip(theirs, ours, strict=True)) and not _may_raise()


def limited(argv: Sequence[str]) -> list[str]:
    """The command line that runs a program with the limits of whoever this runs for."""
    options: list[str] = []
    given, setter = caller_inherited().limits, _setter()
    if given and setter is not None:
        for number, (soft, hard), (_, most) in zip(_LIMITS, given, ours := limits(), strict=True):
            if _above(hard, most) and not _may_raise():
                hard = most  # none can have more than this process
            if (soft, hard) != ours[_LIMITS.index(number)]:
                options.append(f"--{_NAMES[number]}={_in_words(soft)}:{_in_words(hard)}")
    return [setter, *options, "--", *argv] if options and setter is not None else list(argv)


def make_ours(descriptor: int, mode: int) -> None:
    """Give what was just made with this mode the rights that the umask of whoever this runs for leaves."""
    if (mask := caller_inherited().umask) >= 0:
        kept = os.fstat(descriptor).st_mode & 0o7000  # a folder has its group from the one above, and passes it on
        os.fchmod(descriptor, kept | mode & ~mask)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it with the rights that whoever this runs for gives new ones. Raises `OSError`."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if (mask := caller_inherited().umask) >= 0:
        for each in missing:
            each.chmod(each.stat().st_mode & 0o7000 | 0o777 & ~mask)


@functools.cache
def _setter() -> str | None:
    """The program of util-linux that sets limits and then is the program that gets them."""
    return shutil.which("prlimit")


def _may_raise() -> bool:
    """Whether this process may raise hard limits. In a container, root often may not."""
    own = Path("/proc/self")
    try:
        held = re.search(r"^CapEff:\s*(\w+)$", (own / "status").read_text("ascii", "replace"), re.MULTILINE)
        is_whole = (own / "uid_map").read_text("ascii").split() == ["0", "0", "4294967295"]  # no namespace of users
    except OSError:
        return os.geteuid() == 0  # this system has no capabilities
    return is_whole and held is not None and bool(int(held[1], 16) >> _CAP_SYS_RESOURCE & 1)


def _above(limit: int, other: int) -> bool:
    if other == resource.RLIM_INFINITY:
        return False
    return limit == resource.RLIM_INFINITY or limit > other


def _in_words(limit: int) -> str:
    return "unlimited" if limit == resource.RLIM_INFINITY else str(limit)


def inherited(umask: int, theirs: Sequence[tuple[int, int]], own_umask: int) -> Inherited:
    """What a face passes on that this process would not. `own_umask`: this process's."""
    return Inherited(-1 if umask == own_umask else umask, () if list(theirs) == limits() else tuple(theirs))
