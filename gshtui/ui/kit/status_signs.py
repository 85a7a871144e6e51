"""The sign and the colour of each status of an agent."""

from __future__ import annotations

SIGNS: dict[str, tuple[str, str]] = {
    "starting": ("◌", "$foreground-muted"),
    "thinking": ("●", "$primary"),
    "tool": ("●", "$secondary"),
    "waiting": ("◆", "$warning"),
    "idle": ("○", "$foreground-muted"),
    "done": ("✓", "$success"),
    "failed": ("✗", "$error"),
    "lost": ("?", "$error"),
}
"""Status → its sign and colour. The word always stands beside it: colour is never the only sign."""
