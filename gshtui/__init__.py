"""gsh-tui: a full-screen terminal workbench for people who work in a shell beside several AI agents."""

__version__ = "0.1.0"
