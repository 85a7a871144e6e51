"""What a person should know about a shell line before they allow it: the policy's verdict, and what it reaches.

The policy decides what may run and what `always` would cover; the warnings here are a rough reading for the question,
and only keep `always` from being offered. Pure, except that it resolves paths.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from gshtui.commands.declaration import Assessment, Effect, JudgedPart
from gshtui.guard.policy import sensitive_paths
from gshtui.text.sanitise import literal, one_line, visible
from gshtui.tools.files.path_location import Location

_ANY_SHELL = re.compile(r"(?:[A-Za-z0-9_@%+:,./ \t-]|'[^'!\n]*'|&&|\|(?!&)|;(?!;))+")
"""Lines that a person's own shell reads as bash does, whatever its history, aliases and patterns."""
_NETWORK = re.compile(
    r"(?:^|[\s;&|(`])(?:curl|wget|nc|ncat|netcat|telnet|ssh|scp|sftp|rsync|ftp|gh|aws|gcloud|az|kubectl|ping|dig|nslookup"
    r"|git\s+(?:push|pull|fetch|clone|ls-remote|submodule)|(?:npm|pnpm|yarn)\s+(?:i|install|ci|add|publish)"
    r"|(?:pip3?|uv|pipx)\s+(?:\w+\s+)?(?:install|add|sync|publish)|docker\s+(?:pull|push|run)|apt(?:-get)?\s|brew\s"
    r"|go\s+(?:get|install|mod)|cargo\s+(?:install|publish|fetch))\b|/dev/(?:tcp|udp)/"
)
_DESTROYS = re.compile(
    r"\brm\s+(?:-\w+\s+)*-\w*[rR]|\bgit\s+(?:reset\s+--hard|clean\s+-\w*f|checkout\s+--\s|branch\s+-D)"
    # Search only from the first such word of a line; starting at each of many would take quadratic time.
    r"|^(?>.*?\bfind\b).*\s-delete\b"
    r"|\btruncate\b|\bshred\b|\bdrop\s+(?:table|database)\b",
    re.IGNORECASE | re.MULTILINE,
)
_AS_ANOTHER = re.compile(r"(?:^|[\s;&|(`])(?:sudo|doas|su)\s")
_HARMLESS = frozenset(
    ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero", "/dev/random", "/dev/urandom")
)
_PROGRAMS = ("/usr/", "/bin/", "/sbin/", "/opt/", "/nix/", "/snap/")
_ADDRESS = re.compile(r"(?i)(?:https?|ftps?|sftp|ssh|git|wss?)://[\w.@:\[\]-]+(?:/[\w.~%/?#&=+,@:-]*)?")
"""The whole of a word: an address to which nothing else is joined."""
_WORDS = 400


def assess_line(command: str, folder: Location, project: Path, *, own_shell: bool = False) -> Assessment:
    """Judge running the line in `folder`.

    Args:
        command: the line.
        folder: where it would run.
        project: the project's folder.
        own_shell: it is typed into a shell with its own configuration, which may not be bash.
    """
    from gshtui.guard.policy.shell_policy import judge  # import the parser and its table only once there is a line

    root = Path(os.path.realpath(project))
    found = list(dict.fromkeys(_reach(command, folder.real, root)))
    reach = [warning for _, warning in found]
    names_secrets = any(secret for secret, _ in found)
    judged = judge(command, folder.real, root)
    overwrites = _overwrites(command)
    why = judged.sentence
    if not folder.inside:
        why = f"{folder.where} is outside the project (rule outside)"
    elif judged.contained and own_shell and not _ANY_SHELL.fullmatch(command):
        why = "the shell there may interpret this line differently from bash (rule shell)"
    elif judged.contained:
        why = ""
    return Assessment(
        effect=Effect.EXECUTE,
        subject=one_line(literal(command.strip().replace("\n", " ␊ ")), limit=300),
        inside=not why,
        detail=f"in {folder.shown if folder.shown != '.' else folder.real}\n{visible(command, counted=False)}",
        key=f"{folder.real}\0{command}",
        pattern=judged.pattern if folder.inside and not reach and not overwrites else "",
        scope=judged.scope,
        warnings=(*folder.warnings, *reach, *_warnings(command, overwrites)),
        why=one_line(literal(why)),
        # What happens at the other end of the network happens outside of any sandbox.
        sandbox=folder.inside and not own_shell and not names_secrets and not overwrites,
        parts=tuple(JudgedPart(part.text, part.verdict, part.rule, part.why) for part in judged.parts),
        reads=not why and judged.reads and not own_shell,
    )


def line_warnings(command: str, folder: Path, project: Path) -> tuple[str, ...]:
    """What a person should know of a line that another program would run in `folder`."""
    return (*leads_to(command, folder, project), *_warnings(command, _overwrites(command)))


def _warnings(command: str, overwrites: bool) -> Iterator[str]:
    """What the line does, as sentences for the question. `overwrites`: it pushes over what is at the other end."""
    if _NETWORK.search(command):
        yield "may send to the network"
    if _AS_ANOTHER.search(command):
        yield "runs as another user"
    if overwrites or _DESTROYS.search(command):
        yield "deletes or overwrites permanently"
    shown = visible(command)
    if shown.partition("⟩\n")[2] != command and shown != command:
        yield "contains characters or blanks that are easily overlooked; they are shown by name"


def _overwrites(command: str) -> bool:
    """Whether it may push over what is at the other end."""
    from gshtui.guard.policy import git_policy, shell_line
    from gshtui.guard.rules import rule_doubt

    if not shell_line.is_bounded(command):
        return "push" in command
    return any(git_policy.overwrites(words) for words in rule_doubt.commands(command))


def leads_to(command: str, folder: Path, project: Path) -> tuple[str, ...]:
    """Where words of the line lead now, outside the project or to secrets, as sentences for the question."""
    root = Path(os.path.realpath(project))
    return tuple(dict.fromkeys(warning for _, warning in _reach(command, folder, root)))


def _reach(command: str, folder: Path, root: Path) -> Iterator[tuple[bool, str]]:
    """Warn of words that look like paths outside the project, or like secrets; with each, whether it is a secret."""
    looked_at = {"", *_HARMLESS}
    for word in _words(command):
        if _ADDRESS.fullmatch(word):
            continue  # what it names is on another machine
        for part in {word, word.rpartition("=")[2], word.rpartition("@")[2], word.rpartition(":")[2]} - looked_at:
            looked_at.add(part)
            if len(part) > 4096:
                continue
            path = os.path.expandvars(os.path.expanduser(part))  # noqa: PTH111 - words are no paths yet
            if path.startswith(_PROGRAMS) and os.access(path, os.X_OK):
                continue
            named = os.path.join(folder, path)  # noqa: PTH118 - a Path for each word costs more than the rest
            exists = os.path.lexists(named)
            real = Path(os.path.realpath(named) if exists or "/" in path or path in (".", "..") else named)
            if secret := sensitive_paths.secret(real):
                yield True, f"may touch {secret}: {one_line(literal(str(real)))}"
            elif (exists or path.startswith("/") or ".." in path) and not real.is_relative_to(root):
                behind = f" behind {one_line(literal(part), 100)}" if os.path.normpath(named) != str(real) else ""
                yield False, f"reaches outside the project: {one_line(literal(str(real)))}{behind}"


def _words(command: str) -> Iterator[str]:
    """Split the line into words as the shell would, or nearly so."""
    lexer = shlex.shlex(command[:20_000], posix=True, punctuation_chars=";&|(){}<>`\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        for number, word in enumerate(lexer):
            if number >= _WORDS:
                return
            if "\0" not in word:
                yield word
    except ValueError:  # an unclosed quote
        yield from (word.strip("'\"") for word in command[:20_000].split()[:_WORDS] if "\0" not in word)
