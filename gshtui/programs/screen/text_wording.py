"""How a text must be worded so that a program takes it as text, and why one cannot be given to it.

Owns what is added around a text (see `Profile.text`) and what a shell says of a line before it is typed; types nothing.
"""

from __future__ import annotations

import asyncio
import shutil

from gshtui.programs.profiles.profile import Profile
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import one_line, plain

_WITHIN = 5.0
"""Seconds for the answer."""
_BARE = {"zsh": ("-f",), "bash": ("--norc",), "fish": ("--no-config",)}


async def misunderstood(program: str, line: str) -> str:
    """What is wrong with a line for this shell, or incomplete in it; empty if nothing is known. `program`: the shell's
    name.
    """
    shell = await asyncio.to_thread(shutil.which, program.removeprefix("-"))
    if shell is None:
        return ""
    name = shell.rpartition("/")[2]
    # In a group of its own, since some take `a &&` for whole at the end; and as it stands, since some take the group's
    # brace for a part of it.
    for text in (line,) if name == "fish" else (line, f"{{ {line}\n}}"):
        if why := await _refused(shell, *_BARE.get(name, ()), "-n", "-c", text):
            return why
    return ""


async def _refused(*argv: str) -> str:
    process = await processes.start_child(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with time_limit(_WITHIN):
            _, errors = await process.communicate()
    except TimeoutError:
        return ""
    finally:
        await processes.kill_child(process)
    return (one_line(plain(errors.decode("utf-8", "replace")), 300) or "it is incomplete") if process.returncode else ""


def worded(profile: Profile, text: str) -> str:
    """The text as its program takes it as text: what would be acted upon is written around. See `Profile.text`."""
    rules = profile.text
    words = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if not words:
        return ""
    if rules.tab != "\t":
        words = words.replace("\t", rules.tab)
    if begin := _begins(profile, words):
        words = rules.first[begin] + words
    if end := _ends(profile, words):
        words += rules.last[end]
    elif rules.completes and not words[-1].isspace() and words.split()[-1].startswith(rules.completes):
        words += " "
    return words + rules.close if "\n" in words else words


def unfit(profile: Profile, text: str) -> str:
    """Why a text cannot be given to this program as text; empty when it can."""
    rules, words = profile.text, text.replace("\r\n", "\n").rstrip("\r\n")
    if (begin := _begins(profile, words)) and not rules.first[begin]:
        return f"it would act on {begin!r} at the start"
    if (end := _ends(profile, words)) and not rules.last[end]:
        return f"with {one_line(end)!r} at the end it would wait for more"
    if rules.lines == "one" and "\n" in words:
        return "it accepts one line at a time"
    if rules.most and len(words) > rules.most:
        return f"it accepts at most {rules.most:,} characters"
    return ""


def _begins(profile: Profile, words: str) -> str:
    """The beginning that it acts upon; blanks in front of it help only where they are what is written beside it."""
    found = (
        begin
        for begin, beside in profile.text.first.items()
        if (words if beside.isspace() else words.lstrip()).startswith(begin)
    )
    return max(found, key=len, default="")


def _ends(profile: Profile, words: str) -> str:
    return max((end for end in profile.text.last if words.endswith(end)), key=len, default="")
