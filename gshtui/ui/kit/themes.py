"""The workbench's two themes, and the sign and colour of each status of an agent.

Style sheets and palettes name colours by the themes' variables and never as values.
"""

from __future__ import annotations

from textual.theme import Theme

DARK = "gsh-dark"
LIGHT = "gsh-light"

GSH_DARK = Theme(
    name=DARK,
    dark=True,
    primary="#6fd3b8",
    secondary="#86b6e0",
    accent="#ff9676",
    foreground="#d9e4e1",
    background="#0e1516",
    surface="#121b1d",
    panel="#1c2a2d",
    warning="#e6c065",
    error="#f4827f",
    success="#93d28c",
    luminosity_spread=0.12,
    variables={
        "border": "#35504f",
        "border-blurred": "#24363a",
        "block-cursor-background": "#6fd3b8",
        "block-cursor-foreground": "#0e1516",
        "block-cursor-text-style": "none",
        "input-cursor-background": "#6fd3b8",
        "input-cursor-foreground": "#0e1516",
        "input-selection-background": "#6fd3b8 28%",
        "scrollbar": "#2a3d41",
        "scrollbar-hover": "#3f5c60",
        "scrollbar-active": "#6fd3b8",
        "scrollbar-background": "#0e1516",
        "scrollbar-background-hover": "#0e1516",
        "scrollbar-background-active": "#0e1516",
        "scrollbar-corner-color": "#0e1516",
        "footer-background": "#121b1d",
        "footer-key-foreground": "#6fd3b8",
        "button-color-foreground": "#0e1516",
    },
)

GSH_LIGHT = Theme(
    name=LIGHT,
    dark=False,
    primary="#0b6e63",
    secondary="#235f9c",
    accent="#b23c12",
    foreground="#1d2829",
    background="#fbf9f4",
    surface="#f3efe6",
    panel="#e6e0d3",
    warning="#855800",
    error="#ab2219",
    success="#2a6f2c",
    luminosity_spread=0.12,
    variables={
        "border": "#a9bdb4",
        "border-blurred": "#d8d2c4",
        "block-cursor-background": "#0b6e63",
        "block-cursor-foreground": "#fbf9f4",
        "block-cursor-text-style": "none",
        "input-cursor-background": "#0b6e63",
        "input-cursor-foreground": "#fbf9f4",
        "input-selection-background": "#0b6e63 22%",
        "scrollbar": "#cfc8b8",
        "scrollbar-hover": "#b3ab98",
        "scrollbar-active": "#0b6e63",
        "scrollbar-background": "#fbf9f4",
        "scrollbar-background-hover": "#fbf9f4",
        "scrollbar-background-active": "#fbf9f4",
        "scrollbar-corner-color": "#fbf9f4",
        "footer-background": "#f3efe6",
        "footer-key-foreground": "#0b6e63",
        "button-color-foreground": "#fbf9f4",
    },
)

OURS = (GSH_DARK, GSH_LIGHT)


STATUS_SIGNS: dict[str, tuple[str, str]] = {
    "starting": ("◌", "$foreground-muted"),
    "thinking": ("●", "$primary"),
    "tool": ("●", "$secondary"),
    "waiting": ("◆", "$warning"),
    "idle": ("○", "$foreground-muted"),
    "done": ("✓", "$success"),
    "failed": ("✗", "$error"),
    "lost": ("?", "$error"),
}
"""Status → its sign and colour. The word is always shown too: colour is never the only sign."""
