"""What a person should know about a shell line before they allow it: where it reaches, and what `always` would cover.

A rough reading for a question, not a policy: it never makes anything allowed, it only withholds the offer of `always`
and adds warnings. Pure but for resolving paths. Called by `bash`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from gshtui.agents.tools import sensitive
from gshtui.agents.tools.paths import Place
from gshtui.commands.declaration import Assessment, Effect
from gshtui.guard.sanitise import literal, one_line, visible

_PLAIN_WORDS = re.compile(r"""(?:[A-Za-z0-9_@%+=:,./ \t-]|'[^'\n]*'|"[^"$`\\!\n]*")+""")
_SUBCOMMANDS = frozenset(
    (
        "git",
        "npm",
        "pnpm",
        "yarn",
        "cargo",
        "go",
        "uv",
        "pip",
        "docker",
        "kubectl",
        "poetry",
        "bundle",
        "rails",
        "dotnet",
    )
)
_RUNS_ANYTHING = frozenset(
    (
        *("bash", "sh", "zsh", "dash", "fish", "env", "exec", "eval", "source", ".", "command", "builtin", "xargs"),
        *("sudo", "doas", "su", "nice", "nohup", "time", "timeout", "setsid", "stdbuf", "watch", "parallel", "strace"),
        *("python", "python3", "node", "perl", "ruby", "php", "lua", "awk", "gawk", "sed", "find", "tar", "zip", "rg"),
        *("sort", "less", "more", "man", "vi", "vim", "nvim", "emacs", "ed", "tmux", "screen", "script", "gdb", "ssh"),
        *(
            "rm",
            "dd",
            "mkfs",
            "chmod",
            "chown",
            "mv",
            "cp",
            "ln",
            "install",
            "tee",
            "kill",
            "pkill",
            "killall",
            "crontab",
        ),
        *("mount", "umount", "systemctl", "service", "curl", "wget", "nc", "ncat", "telnet", "scp", "sftp", "rsync"),
        *("export", "unset", "alias", "hash", "set", "trap", "history", "printenv", "gh", "aws", "gcloud", "az"),
    )
)
_RISKY_SUBCOMMANDS = frozenset(
    (
        *("git config", "git remote", "git submodule", "git filter-branch", "git bisect", "git clean", "git difftool"),
        *("git mergetool", "git rebase", "git worktree", "git credential", "git daemon", "npm exec", "npm config"),
        *("npm publish", "pnpm exec", "pnpm dlx", "yarn dlx", "yarn exec", "go run", "go generate", "docker run"),
        *("docker exec", "kubectl exec", "kubectl delete", "uv run", "uv publish", "cargo publish", "poetry run"),
        *("bundle exec", "rails runner", "npm run", "yarn run", "pnpm run", "docker compose"),
    )
)
_NETWORK = re.compile(
    r"(?:^|[\s;&|(`])(?:curl|wget|nc|ncat|netcat|telnet|ssh|scp|sftp|rsync|ftp|gh|aws|gcloud|az|kubectl|ping|dig|nslookup"
    r"|git\s+(?:push|pull|fetch|clone|ls-remote|submodule)|(?:npm|pnpm|yarn)\s+(?:i|install|ci|add|publish)"
    r"|(?:pip3?|uv|pipx)\s+(?:\w+\s+)?(?:install|add|sync|publish)|docker\s+(?:pull|push|run)|apt(?:-get)?\s|brew\s"
    r"|go\s+(?:get|install|mod)|cargo\s+(?:install|publish|fetch))\b|/dev/(?:tcp|udp)/"
)
_DESTROYS = re.compile(
    r"\brm\s+(?:-\w+\s+)*-\w*[rR]|\bgit\s+(?:reset\s+--hard|clean\s+-\w*f|push\s.*(?:-f\b|--force)|checkout\s+--\s|branch\s+-D)"
    r"|\bfind\b.*\s-delete\b|\btruncate\b|\bshred\b|\bdrop\s+(?:table|database)\b",
    re.IGNORECASE,
)
_AS_ANOTHER = re.compile(r"(?:^|[\s;&|(`])(?:sudo|doas|su)\s")
_HARMLESS = frozenset(
    ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero", "/dev/random", "/dev/urandom")
)
_PROGRAMS = ("/usr/", "/bin/", "/sbin/", "/opt/", "/nix/", "/snap/")
_WORDS = 400


def assessed(command: str, folder: Place, project: Path) -> Assessment:
    """What running the line in `folder` comes to, as far as it can be read off."""
    root = Path(os.path.realpath(project))
    reach = list(dict.fromkeys(_reach(command, folder.real, root)))
    shown = visible(command)
    warnings = [*folder.warnings, *reach]
    if _NETWORK.search(command):
        warnings.append("may send to the network")
    if _AS_ANOTHER.search(command):
        warnings.append("runs as another user")
    if _DESTROYS.search(command):
        warnings.append("deletes or overwrites for good")
    if shown.partition("⟩\n")[2] != command and shown != command:
        warnings.append("holds characters or blanks that are easily overlooked; they are shown by name")
    inside = folder.inside and not reach
    return Assessment(
        effect=Effect.EXECUTE,
        subject=one_line(literal(command), limit=300),
        inside=inside,
        detail=f"in {folder.shown if folder.shown != '.' else folder.real}\n{shown}",
        key=f"{folder.real}\0{command}",
        pattern=_pattern(command) if inside else "",
        warnings=tuple(warnings),
    )


def _pattern(command: str) -> str:
    """What `always` would cover: a program, with its subcommand where it has them. Only for a line of literal words."""
    if not _PLAIN_WORDS.fullmatch(command):
        return ""
    words = shlex.split(command)
    if not words or "=" in words[0]:
        return ""
    program = words[0].rpartition("/")[2]
    if program in _RUNS_ANYTHING:
        return f"{words[0]} -m {words[2]} …" if _is_python_module(words) else ""
    if program not in _SUBCOMMANDS:
        return f"{words[0]} …"
    if len(words) < 2 or not re.fullmatch(r"[a-z][a-z-]*", words[1]) or f"{program} {words[1]}" in _RISKY_SUBCOMMANDS:
        return ""
    return f"{words[0]} {words[1]} …"


def _is_python_module(words: list[str]) -> bool:
    known = ("pytest", "mypy", "ruff", "black", "unittest", "build", "compileall")
    return words[0] in ("python", "python3") and words[1:2] == ["-m"] and words[2:3] != [] and words[2] in known


def _reach(command: str, folder: Path, root: Path) -> Iterator[str]:
    """Warnings for words that look like paths outside the project, or like secrets."""
    for word in _words(command):
        for part in {word, word.rpartition("=")[2], word.rpartition("@")[2], word.rpartition(":")[2]}:
            if not part or part in _HARMLESS or len(part) > 4096:
                continue
            path = os.path.expandvars(os.path.expanduser(part))  # noqa: PTH111 - words are no paths yet
            if path.startswith(_PROGRAMS) and os.access(path, os.X_OK):
                continue
            is_path = path.startswith("/") or ".." in path or os.path.lexists(folder / path)
            real = Path(os.path.realpath(folder / path))
            if secret := sensitive.secret(real):
                yield f"may touch {secret}: {one_line(literal(str(real)))}"
            elif is_path and not real.is_relative_to(root):
                yield f"reaches outside the project: {one_line(literal(str(real)))}"


def _words(command: str) -> Iterator[str]:
    """Words of the line as the shell would split it, or nearly so."""
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
    except ValueError:  # a quote that is never closed
        yield from (word.strip("'\"") for word in command[:20_000].split()[:_WORDS] if "\0" not in word)
