"""What the file tools share: their limits, and the memory of which agent has read which file in which state.

Kept in memory only: after a restart an agent reads a file again before it overwrites it. Made once by
`commands.commands`, called by the tools.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gshtui.commands.declaration import Invocation

if TYPE_CHECKING:
    from gshtui.settings.model import Settings

_HASHED = 16 * 1024 * 1024
"""Bytes up to which a file's content is compared, and not only its size and time."""
_REMEMBERED = 4096

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ToolConfig:
    """Limits and policy of the tools."""

    max_output_bytes: int = 30_000
    """Bytes of a result, where the caller has not said how many; 0: any number."""
    max_full_bytes: int = 50_000_000
    """Bytes of a command's output that are kept in whole; of more, the first and the last half."""
    bash_timeout_ms: int = 120_000
    max_timeout_ms: int = 3_600_000
    search_timeout_s: float = 30.0
    git_timeout_s: float = 60.0
    keep_environment: frozenset[str] = frozenset()
    """Names of environment variables that commands may have although they look like secrets."""
    ripgrep: str = "rg"
    """Program that `grep` searches with."""
    bash: str = "bash"
    worktrees_inside: bool = False
    """New worktrees stand under `.gsh/worktrees` of the repository, not beside it."""
    worktree_setup: tuple[str, ...] = ()
    """Command to run in a new worktree, once that was agreed to."""

    @classmethod
    def from_settings(cls, settings: Settings) -> ToolConfig:
        """What the settings say."""
        return cls(
            max_output_bytes=settings.context.max_tool_output_bytes,
            worktrees_inside=settings.worktrees.place == "inside",
            worktree_setup=tuple(settings.worktrees.setup),
        )


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A file's state: two of them are equal when nothing was written in between."""

    mtime_ns: int
    size: int
    digest: bytes = b""
    """Of the content; empty for files over 16 MB."""

    def same_content(self, other: Fingerprint) -> bool:
        """Whether the content is the same, whatever the time says."""
        if self.digest and other.digest:
            return self.digest == other.digest
        return (self.mtime_ns, self.size) == (other.mtime_ns, other.size)


def fingerprint(mtime_ns: int, content: bytes) -> Fingerprint:
    """The state of a file that has this content."""
    digest = hashlib.blake2b(content, digest_size=16).digest() if len(content) <= _HASHED else b""
    return Fingerprint(mtime_ns, len(content), digest)


@dataclass(slots=True)
class Workspace:
    """The shared state of one hub's file tools."""

    config: ToolConfig = field(default_factory=ToolConfig)
    _seen: OrderedDict[tuple[str, str, str], Fingerprint] = field(
        default_factory=OrderedDict[tuple[str, str, str], Fingerprint]
    )
    _assessed: OrderedDict[tuple[str, str], str] = field(default_factory=OrderedDict[tuple[str, str], str])

    def record_read(self, invocation: Invocation, real: Path, state: Fingerprint) -> None:
        """The caller knows the file's content in this state: it has read or written it."""
        _remember(self._seen, (invocation.session, invocation.caller.name, str(real)), state)

    def last_read(self, invocation: Invocation, real: Path) -> Fingerprint | None:
        """The state that the caller last knew the file in, if it ever did."""
        return self._seen.get((invocation.session, invocation.caller.name, str(real)))

    def record_assessed(self, invocation: Invocation, asked: str, real: Path) -> None:
        """The person is asked about this call, and is told that it touches `real`."""
        if invocation.call:
            _remember(self._assessed, (invocation.call, asked), str(real))

    def approved_path(self, invocation: Invocation, asked: str) -> str:
        """The real path that the person was told of when this call was approved; empty when it was not."""
        return self._assessed.get((invocation.call, asked), "") if invocation.call else ""


def _remember(memory: OrderedDict[K, V], key: K, value: V) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)
