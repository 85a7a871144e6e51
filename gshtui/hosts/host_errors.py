"""The one error of this room, and its translation from what OpenSSH says."""

from __future__ import annotations

import re
import shlex
from typing import Literal

from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line

Kind = Literal["missing", "unknown", "key_changed", "key_unknown", "refused", "unreachable", "timeout", "failed"]


class HostError(ExpectedError):
    """Another machine could not be used.

    Args:
        kind: `missing`: no OpenSSH here; `unknown`: no such host in the configuration; `key_changed`, `key_unknown`:
            its host key; `refused`: it lets us in by no key; `unreachable`: no connection; `timeout`: no answer, and
            whether it acted is not known; `failed`: it answered, and could not do it.
        message: one clear sentence.
        hint: what to do about it.
    """

    def __init__(self, kind: Kind, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind: Kind = kind


SSH_MESSAGES: tuple[tuple[str, Kind, str, str], ...] = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .* has changed",
        "key_changed",
        "The host key of {host} has changed.",
        "Ask whoever runs it why. Only if that is expected, remove the old key with `{remove}`.",
    ),
    (
        r"Host key verification failed|No .* host key is known|authenticity of host",
        "key_unknown",
        "The host key of {host} is not known here.",
        "Run `{ssh}` once in a terminal, compare the key, and accept it.",
    ),
    (
        r"Permission denied|Too many authentication failures|no mutual signature|sign_and_send_pubkey",
        "refused",
        "{host} lets you in by no key; it may want a password, which is never asked for here.",
        "Make a key work first: `ssh-copy-id`, or `ssh-add` for a key with a passphrase; then `{ssh} true`.",
    ),
    (
        r"Could not resolve hostname|Name or service not known|Temporary failure in name resolution",
        "unreachable",
        "The name of {host} leads to no machine.",
        "Check `destination` in the configuration, and the network.",
    ),
    (
        r"Connection refused|No route to host|Network is unreachable|Host is down|timed out|Timeout, server"
        r"|Connection (?:closed|reset)|Broken pipe|not responding|kex_exchange_identification|Operation timed out",
        "unreachable",
        "{host} cannot be reached: {said}.",
        "Check the network; it is tried again by itself.",
    ),
    (
        r"Bad configuration option|no argument after keyword|Bad owner or permissions|command-line: line",
        "failed",
        "ssh does not accept its configuration for {host}: {said}.",
        "Check `ssh_options` and your ssh_config.",
    ),
)


def from_ssh(host: str, where: str, ssh: str, errors: bytes) -> HostError:
    """The error for a connection that did not come about or broke, from what ssh printed.

    Args:
        where: its destination.
        ssh: the command that a person would type.
    """
    text = errors.decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not set(line.strip()) <= {"@"}]
    for pattern, kind, message, hint in SSH_MESSAGES:
        if match := re.search(pattern, text, re.IGNORECASE):
            line = next((line for line in lines if match.group() in line), match.group())
            told = {"host": host, "ssh": ssh, "said": _reason(line), "remove": _removal(text, where)}
            return HostError(kind, message.format(**told), hint.format(**told))
    said = _reason(lines[-1]) if lines else "ssh ended without a word"
    return HostError("unreachable", f"{host} cannot be reached: {said}.", f"`{ssh} true` shows more.")


_REMOVAL = re.compile(r"""^[ \t]*ssh-keygen -f "([^"\n]+)" -R "([^"\n]+)"[ \t\r]*$""", re.MULTILINE)


def _removal(text: str, where: str) -> str:
    """The command that removes the old key: the file and the name that ssh looked in, which its aliases hide."""
    found = _REMOVAL.search(text)
    words = ["-f", found[1], "-R", found[2]] if found else ["-R", where]
    return one_line(shlex.join(["ssh-keygen", *words]), 300)


def _reason(line: str) -> str:
    """The end of a line of ssh's, which begins with what it was about."""
    return one_line(line.rpartition(": ")[2] or line, 160).rstrip(".")
