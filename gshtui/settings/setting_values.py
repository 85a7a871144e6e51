"""What a single value of the configuration file may be: a path, an address, a name, and never a secret.

Each check refuses a value with a `ValueError` that says what to write instead.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

LOWER: dict[str, Any] = {"project": "lower"}
"""The project layer may lower it."""
LOWER_BUT_ZERO: dict[str, Any] = {"project": "lower", "zero_is_unlimited": True}
FEWER: dict[str, Any] = {"project": "fewer"}
"""The project layer may take items out."""
TRUE: dict[str, Any] = {"project": "true"}
"""The project layer may switch it on."""
FALSE: dict[str, Any] = {"project": "false"}
"""The project layer may switch it off."""
STRICTER: dict[str, Any] = {"project": "stricter"}
"""The project layer may choose an earlier one of its words."""
ASKED: dict[str, Any] = {"project": "asked"}
"""The project layer may set it: it does nothing before a person has agreed to that very value."""

T = TypeVar("T")


def setting(default: T | Callable[[], T], meaning: str, project: dict[str, Any] | None = None) -> Any:
    """One key of a table. `default`: also what makes it; `project`: what the project layer may do to it."""
    if callable(default):
        return Field(default_factory=default, description=meaning, json_schema_extra=project)
    return Field(default=default, description=meaning, json_schema_extra=project)


class SettingsTable(BaseModel):
    """Base of all tables: unknown keys are refused, defaults are checked, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)


_KEY_LENGTH = 24
"""Characters of the shortest key that has no known beginning."""
_V = TypeVar("_V", bound=dict[str, Any])
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SECRET = re.compile(
    r"\b(sk-[A-Za-z0-9_-]{16,}|AIza[0-9A-Za-z_-]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|glpat-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,})"
)
_SECRET_NAME = re.compile(r"(^|[_-])(apikey|key|secret|password|passwd|token)$")


def looks_secret(value: object) -> bool:
    """Whether text has the shape of an API key or token of a known service."""
    return isinstance(value, str) and _SECRET.search(value) is not None


def may_be_key(word: str) -> bool:
    """Whether a word may be an API key: it has the shape of one, or is long, without a slash and with a digit."""
    return looks_secret(word) or (len(word) >= _KEY_LENGTH and "/" not in word and any(map(str.isdigit, word)))


def names_secret(key: str) -> bool:
    """Whether a key's last part says that its value is a secret, such as `api_key` or `auth_token`."""
    return _SECRET_NAME.search(key.rpartition(".")[2].lower()) is not None


def variable_name(value: str) -> str:
    """The name of an environment variable, or nothing. A key put here by mistake is refused without repeating it."""
    if value and (looks_secret(value) or not _VARIABLE.fullmatch(value)):
        raise ValueError("it must be the name of a variable, such as ANTHROPIC_API_KEY, not the key itself")
    return value


def address(value: str) -> str:
    """An http or https address without a password in it, or nothing."""
    if not value:
        return value
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable, parts = False, None
    if not usable or parts is None:
        raise ValueError("it must be an address such as https://api.example.com")
    if parts.password or parts.username:
        raise ValueError("it must not contain a user name or password")
    return value


def expanded(value: object) -> object:
    """A path with `~` and `$VARIABLES` put in; it must then start at the root."""
    if not isinstance(value, str | Path):
        return value
    text = os.path.expandvars(str(value))
    if "\0" in text or not text.strip():
        raise ValueError("it must be a path")
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError("`~` is unknown: there is no home folder") from error
    if not path.is_absolute():
        raise ValueError("it must be an absolute path, such as ~/folder or /folder")
    return path


def host(value: str) -> str:
    """A host, all below a name (`*.name`), or a network of addresses, each perhaps with a port."""
    from gshtui.text.host_rules import host_rule  # only where a file names hosts

    host_rule(value)
    return value


PROJECT = "project"
"""The folder of `/shared` that is the project's."""


def shared_name(value: str) -> str:
    """The name of a folder below `/shared`."""
    from gshtui.text.plain_name import NameRefused, plain_name  # only where a file names one

    if value == PROJECT:
        raise ValueError("/shared/project is always the project's folder; choose another name")
    try:
        return plain_name(value)
    except NameRefused as error:
        raise ValueError(error.message) from error


def variables(value: _V) -> _V:
    for name, text in value.items():
        if not _VARIABLE.fullmatch(name) or name.startswith("GSH_"):
            raise ValueError("its keys must be names of variables, and not those of gsh-tui itself")
        if looks_secret(text):
            raise ValueError(f'{name} must not be a key itself, but say where it is, as in {{ env = "NAME" }}')
    return value


_SERVER_NAME = re.compile(r"[A-Za-z0-9](?:_?[A-Za-z0-9-]){0,39}")


def server_name(value: str) -> str:
    """The name of an MCP server. Two underscores separate it from a tool's name, so it has none."""
    if not _SERVER_NAME.fullmatch(value):
        raise ValueError("it must be letters, digits, - and single _, at most 40 of them")
    return value


def named_texts(value: dict[str, str]) -> dict[str, str]:
    """Variables or headers of a server, none of them a secret itself."""
    for name, text in value.items():
        if not name or not name.isprintable() or any(ord(letter) < 32 for letter in text):
            raise ValueError("its names and values must be plain text")
        if looks_secret(text):
            raise ValueError(f'{name} must not be a key itself, but name a variable that holds it: "${{NAME}}"')
    return value


def quiet_hours(value: str) -> str:
    """Hours of every day, or nothing."""
    if value:
        day_hours(value)
    return value


def webhook_address(value: str) -> str:
    """An address that notifications may be sent to: by HTTPS, or to this machine."""
    parts = urlsplit(value)
    here = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if value and not (parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and here))):
        raise ValueError("write an address that begins with https:// (http:// is for this machine only)")
    return value


def apprise_address(value: str) -> str:
    """An address as apprise writes them: a service, and whom to reach there."""
    if not re.match(r"[a-z][a-z0-9+.-]*://.", value, re.IGNORECASE):
        raise ValueError("write an address of apprise, such as ntfy://my-topic")
    return value


def plain_word(value: str) -> str:
    """A word that a command line takes for no option and that a shell takes for nothing else, or nothing."""
    if value and (value.startswith("-") or not re.fullmatch(r"[A-Za-z0-9_.:@%/\[\]+-]{1,255}", value)):
        raise ValueError("it must be a name or an address, such as build.example.com")
    return value


def ssh_option(value: str) -> str:
    """One option of `ssh_config`, as `Name=value`, that leaves our own connection as it must be."""
    name, equals, rest = value.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", name) or not rest or re.search(r"[\x00-\x1f\x7f]", rest):
        raise ValueError("each must be `Name=value`, as in ssh_config, such as ProxyJump=gate.example.com")
    ours = {"batchmode", "controlmaster", "controlpath", "controlpersist", "remotecommand", "requesttty"}
    if name.lower() in ours | {"stdinnull", "forkafterauthentication", "sessiontype", "localcommand"}:
        raise ValueError(f"{name} is always set by gsh-tui")
    return value


AgentName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
SharedName = Annotated[str, AfterValidator(shared_name)]
Folder = Annotated[Path, BeforeValidator(expanded)]
"""A path; `~` and `$VARIABLES` are expanded."""
HostWords = Annotated[str, AfterValidator(host)]
VariableName = Annotated[str, AfterValidator(variable_name)]
Address = Annotated[str, AfterValidator(address)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Amount = Annotated[float, Field(ge=0, le=1e12)]
Positive = Annotated[int, Field(ge=1, le=1_000_000_000)]
if TYPE_CHECKING:
    ProviderType = str
else:  # a choice in the schema and in the settings tab
    from typing import Literal

    from gshtui.settings.known_providers import KNOWN_PROVIDERS

    ProviderType = Literal[(*KNOWN_PROVIDERS, "offline", "")]
HostName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")]
NamedTexts = Annotated[dict[str, str], AfterValidator(named_texts)]
PlainWord = Annotated[str, AfterValidator(plain_word)]
Variables = Annotated[dict[str, str], AfterValidator(variables)]


_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d) ?- ?([01]?\d|2[0-3]):([0-5]\d)")


def day_hours(words: str) -> tuple[datetime.time, datetime.time]:
    """The first moment, and the first one after the last. Raises `ValueError`, as half a sentence."""
    found = _HOURS.fullmatch(words.strip())
    if found is None:
        raise ValueError("write two times of day, such as 22:00-07:30")
    first, first_minute, last, last_minute = (int(number) for number in found.groups())
    return datetime.time(first, first_minute), datetime.time(last, last_minute)


def is_within(words: str, at: datetime.time) -> bool:
    """Whether a time of day is in these hours; `words` empty: in none. Raises `ValueError`."""
    if not words:
        return False
    start, end = day_hours(words)
    return start <= at < end if start <= end else at >= start or at < end


class AccountValue(SettingsTable):
    """Where a secret value of an account is fetched from, at each start of an agent: exactly one place."""

    env: VariableName = setting("", "Environment variable of gsh-tui that holds it.")
    command: str | list[str] = setting(
        "", "Command whose first line of output it is, such as `pass show work/anthropic`."
    )
    keyring: str = setting("", "Entry of the system's keyring, as SERVICE/USER.")

    @model_validator(mode="after")
    def _one_place(self) -> AccountValue:
        if sum(map(bool, (self.env, self.command, self.keyring))) != 1:
            raise ValueError("it must name one of env, command and keyring")
        return self
