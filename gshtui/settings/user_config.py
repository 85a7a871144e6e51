"""Set a value in the user's configuration file and keep everything else, comments included.

Checks the value first, never touches a file with invalid TOML, and replaces the file atomically.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gshtui.settings import paths
from gshtui.settings.keys import FREE_TABLES, NAMED_TABLES, SERVERS, TABLES, from_text, is_known, nearest, nested, split
from gshtui.settings.started_programs import McpServer
from gshtui.settings.toml_file import Origin, read_toml
from gshtui.settings.validation import check
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import blocking_lock

if TYPE_CHECKING:
    from collections.abc import MutableMapping

SCHEMA = "config.schema.json"
"""The schema beside the file, of this version: editors complete and check the file by it."""
STARTER = f"""\
#:schema ./{SCHEMA}
# Settings of gsh-tui. `gsh-tui config schema` lists every key; `gsh-tui config show` shows the values in effect and \
where they come from.
# Do not put API keys here: use environment variables such as ANTHROPIC_API_KEY.
"""


class EditError(ExpectedError, ValueError):
    """The value cannot be set; the text is one or two sentences."""


@contextmanager
def edit_lock() -> Generator[None]:
    """Hold the file for one edit, so that two programs that edit it at once lose neither. Raises `EditError`."""
    try:
        place = paths.state_dir() / "config.lock"
        with blocking_lock(place):
            yield
    except (OSError, paths.FolderError) as error:
        raise EditError(f"Cannot lock the configuration: {error}.") from error


def _unchecked() -> None:
    """The default: nothing else has to be so."""


def set_value(key: str, text: str, check_first: Callable[[], None] = _unchecked) -> Any:
    """Set a dotted key of the user's file; return the value as written.

    `check_first`: called while nobody else can edit the file; what it raises refuses the edit. Raises `EditError`: no
    such key, a bad value, a file with a mistake, or a file that cannot be written.
    """
    path = split(key)
    least = 4 if path[:2] == SERVERS else 3 if path[0] in NAMED_TABLES else 2
    if path[0] in (*TABLES, *FREE_TABLES) and len(path) < least:
        raise EditError(f"`{key}` is a table; name one of its keys.")
    try:
        typed = from_text(path, text)
    except ValueError as error:
        raise EditError(str(error)) from error
    checked = check(nested(path, typed), lambda *_: Origin("default"), strict=False)
    if checked.problems:
        raise EditError(f"{checked.problems[0].text} {checked.problems[0].hint}".replace(" It is ignored.", ""))
    value = _as_toml(path, typed)
    with edit_lock():
        check_first()
        file, text = _user_file()
        _save(file, _changed(text, path, value))
    return value


def unset_value(key: str) -> bool:
    """Remove a dotted key from the user's file, so that its default applies; returns whether it was there.
    Raises `EditError`: no such key, a file with a mistake, or a file that cannot be written.
    """
    path = split(key)
    if not is_known(path):
        near = nearest(path)
        raise EditError(f"There is no setting `{key}`.{f' Did you mean `{near}`?' if near else ''}")
    with edit_lock():
        file, text = _user_file()
        without = _without(text, path)
        if without is not None:
            write(file, without)
    return without is not None


def set_servers(servers: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write MCP servers' tables into the user's file, in place of earlier ones: all or none; returns the file.
    Raises `EditError`: a bad value, a file with a mistake, or a file that cannot be written.
    """
    checked = check({SERVERS[0]: {SERVERS[1]: servers}}, lambda *_: Origin("default"), strict=True)
    if checked.problems:
        raise EditError(f"{checked.problems[0].text} {checked.problems[0].hint}".replace(" It is ignored.", ""))
    with edit_lock():
        file, text = _user_file()
        for name, values in servers.items():
            for key, value in values.items():
                text = _changed(text, (*SERVERS, name, key), value)
        _save(file, text)
    return file


def remove_server(name: str) -> Path:
    """Remove an MCP server's table from the user's file; returns the file. Raises `EditError`."""
    with edit_lock():
        file, text = _user_file()
        without = _without(text, (*SERVERS, name))
        if without is None:
            raise EditError(f"There is no [mcp.servers.{name}] in {file} that can be removed.")
        write(file, without)
    return file


def _without(text: str, path: tuple[str, ...]) -> str | None:
    """The text without a key or a table; `None`: it is not there."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        here: Any = document
        for part in path[:-1]:
            here = here[part]
        del here[path[-1]]
        return tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType]
    except (TOMLKitError, KeyError, TypeError):
        return None


def _user_file() -> tuple[Path, str]:
    """The user's file and its text. Raises `EditError`."""
    file = paths.config_file()
    read = read_toml(file, "user")
    if read.problems:
        raise EditError(str(read.problems[0]))
    return file, read.raw.decode("utf-8-sig") if read.exists else STARTER


def _save(file: Path, text: str) -> None:
    """Write the user's file; with its schema if it is new. Raises `EditError`."""
    is_new = not file.exists()
    write(file, text)
    if is_new:
        _keep_schema(file, text)


def make_ready() -> Path:
    """The user's file, created with a short introduction if missing, and its schema. Raises `EditError`."""
    file = paths.config_file()
    if not file.exists():
        write(file, STARTER)
    _keep_schema(file, read_toml(file, "user").raw.decode(errors="replace"))
    return file


def _keep_schema(file: Path, text: str) -> None:
    """Write this version's schema beside a file that names it. The file is of use without."""
    from gshtui.settings.model import schema

    if text.lstrip("\ufeff").startswith(f"#:schema ./{SCHEMA}"):
        with suppress(EditError):
            write(file.with_name(SCHEMA), json.dumps(schema(), indent=2) + "\n")


def write(file: Path, text: str) -> None:
    """Replace the file atomically; if it is a link, replace its target. Raises `EditError`."""
    target = file.resolve()
    try:
        if not target.parent.is_dir():
            paths.config_dir(create=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        private_files.write_whole(target, text.encode(), mode=mode, sync=True)
    except OSError as error:
        raise EditError(f"Cannot write {file}: {error.strerror or error}.") from error


def _as_toml(path: tuple[str, ...], value: Any) -> Any:
    """The value in its field's type, as TOML represents it: a number rather than its text; paths as typed."""
    if path[0] == "keybindings":
        return value
    model = McpServer if path[:2] == SERVERS else NAMED_TABLES.get(path[0]) or TABLES[path[0]]
    typed = getattr(model.model_validate({path[-1]: value}), path[-1])
    return value if isinstance(typed, Path) else typed


def _changed(text: str, path: tuple[str, ...], value: Any) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        here = cast("MutableMapping[str, Any]", document)
        for number, part in enumerate(path[:-1]):
            if part not in here:
                # Do not write `[providers]` above `[providers.name]`.
                here[part] = tomlkit.table(is_super_table=number < len(path) - 2)
            here = cast("MutableMapping[str, Any]", here[part])
        here[path[-1]] = value
        return tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType]
    except (TOMLKitError, TypeError, KeyError) as error:
        raise EditError(f"`{'.'.join(path)}` cannot be set in a file of this form; edit the file by hand.") from error
