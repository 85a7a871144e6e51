"""The user's own files of personas and profiles, made from what is built in when they are first edited.

Never overwrites a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.settings import paths
from gshtui.system.files import private_files

if TYPE_CHECKING:
    from gshtui.agents.personas import Persona


def persona_file(persona: Persona) -> Path:
    """The file to edit: the persona's own, or a new one with the same content. Raises `OSError`."""
    own = paths.config_dir() / "agents"
    if persona.source and Path(persona.source).parent == own:
        return Path(persona.source)
    import tomlkit

    fields = {
        "name": persona.name,
        "summary": persona.summary,
        "prompt": tomlkit.string(persona.words, multiline="\n" in persona.words),
        "tools": list(persona.tools),
        "read_only": persona.read_only,
        "provider": persona.provider,
        "model": persona.model,
    }
    kept = {name: value for name, value in fields.items() if value or name in ("name", "summary", "prompt")}
    return _made(own / f"{persona.name}.toml", tomlkit.dumps(kept).encode())  # pyright: ignore[reportUnknownMemberType]


def profile_file(name: str, file: str) -> Path:
    """The file to edit: the user's, or a copy of the one that ships with the program. Raises `OSError`."""
    own = paths.config_dir() / "profiles"
    if Path(file).parent == own:
        return Path(file)
    return _made(own / f"{name}.toml", Path(file).read_bytes())


def _made(file: Path, content: bytes) -> Path:
    private_files.make_folder(file.parent)
    if not file.exists():
        private_files.write_whole(file, content)
    return file
