"""The exit codes: a public contract (`.github/guides/scripts.md`). No command may exit with any other code."""

from __future__ import annotations

DONE = 0
ERROR = 1
USAGE = 2
UNREACHABLE = 3
"""A required provider or tool cannot be reached."""
DENIED = 4
"""An approval was denied, or needed when there was nobody to ask."""
TIMED_OUT = 124
INTERRUPTED = 130

UNREACHABLE_KINDS = frozenset(
    {"network", "timeout", "server", "overloaded", "rate_limit", "truncated", "garbage", "missing"}
)
"""The `ProviderError.kind`s that mean the provider cannot be reached, rather than a bad request."""
