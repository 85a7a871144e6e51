"""The panes of the window, in the order of their keys. Imports nothing: `gsh-tui --pane` knows them, too."""

CHAT = "chat"
LEFT = ("agents",)
RIGHT = ("shell", "context", "timeline")
PANES = (CHAT, *LEFT, *RIGHT)
