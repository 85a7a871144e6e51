"""Whether a person's own settings name something, found without reading them. Imports nothing."""

import os


def is_named(word: str, variable: str) -> bool:
    """Whether the person's file has this word, or a variable begins so."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("HOME", "") + "/.config"
    try:
        with open(f"{home}/gsh/config.toml", "rb") as file:  # noqa: PTH123  (importing `Path` takes longer than this)
            if word.encode() in file.read():
                return True
    except OSError:
        pass
    return any(name.startswith(variable) for name in os.environ)
