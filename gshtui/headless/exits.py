"""The exit codes: a public contract (README, "Scripting"). Nothing else may be given to a shell."""

from __future__ import annotations

DONE = 0
ERROR = 1
USAGE = 2
UNREACHABLE = 3
"""A provider or a tool that is needed cannot be reached."""
DENIED = 4
"""An approval was denied, or was needed with nobody to ask."""
TIMED_OUT = 124
INTERRUPTED = 130

UNREACHABLE_KINDS = frozenset(
    {"network", "timeout", "server", "overloaded", "rate_limit", "truncated", "garbage", "missing"}
)
"""`ProviderError.kind`s that are the way to the provider, not the question."""
