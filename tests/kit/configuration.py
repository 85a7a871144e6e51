"""Configuration files for tests: the person's own, and a project's, trusted or not."""

from pathlib import Path

from gshtui.settings import trust
from tests.kit.home import Home


def user_file(home: Home, text: str) -> Path:
    """The person's configuration, saying this."""
    file = home.config / "gsh" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def made_project(folder: Path) -> Path:
    """A folder that is a project's root."""
    (folder / ".git").mkdir(parents=True)
    return folder


def project_file(folder: Path, text: str, *, trusted: bool = True) -> Path:
    """The project's configuration, saying this; trusted as it is."""
    file = folder / ".gsh" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    if trusted:
        trust.trust(folder, file.read_bytes())
    return file
