"""The accounts and groups of agents: the variables that belong to each, and where secret ones are fetched from.

Plain variables are kept with the agent. Secrets are fetched whenever one is started, given only to its terminal, and
never written down: not into the record, a log, a message or a command line. Commands and keyring entries come from the
user's own configuration only; a project cannot set them.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.fleet.core.ports import FleetError
from gshtui.guard.secrets.child_environment import named_variables
from gshtui.providers.keyring_key import read_keyring
from gshtui.settings.setting_values import AccountValue
from gshtui.settings.settings_tables import AccountSettings, GroupSettings
from gshtui.system.caller_environment import caller_environ
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line

FETCHED_WITHIN = 60.0
"""Seconds for one value: a password manager may have to ask for a passphrase in a window of its own."""
_LONGEST = 64 << 10
"""Bytes of a value."""


class Accounts:
    """The configured accounts and groups, by name."""

    def __init__(
        self, accounts: Mapping[str, AccountSettings] | None = None, groups: Mapping[str, GroupSettings] | None = None
    ) -> None:
        self._accounts = accounts or {}
        self._groups = groups or {}

    def completed(self, request: SpawnRequest) -> SpawnRequest:
        """The request with the account of its group, and with the plain variables of both; its own ones win.
        Raises `FleetError`: there is no such account or group.
        """
        group = self._group(request.group) if request.group else GroupSettings()
        account = request.account or group.account
        variables = dict(group.env)
        if account:
            for name, value in self._account(account).items():
                if isinstance(value, str):
                    variables[name] = value
        try:
            named_variables(f"{name}={value}" for name, value in variables.items())
        except ValueError as error:
            hint = "Write where it is instead, as in { env = … }, { command = … } or { keyring = … }."
            whose = f"account {account}" if account else f"group {request.group}"
            raise FleetError("invalid", f"The {whose} cannot be used: {error}", hint=hint) from None
        words = tuple(f"{name}={_expanded(value)}" for name, value in variables.items())
        own = {word.partition("=")[0] for word in request.env}
        kept = tuple(word for word in words if word.partition("=")[0] not in own)
        return msgspec.structs.replace(request, account=account, env=(*kept, *request.env))

    async def secrets(self, row: AgentRow) -> dict[str, str]:
        """The secret variables of the agent's account, fetched now. Raises `FleetError`: its account is not configured
        any more, or one of them cannot be fetched.
        """
        if not row.account:
            return {}
        found: dict[str, str] = {}
        for name, value in self._account(row.account).items():
            if isinstance(value, AccountValue):
                try:
                    found[name] = await _fetched(value)
                except _UnfetchedError as error:
                    raise FleetError(
                        "invalid", f"{name} of the account {row.account} is unknown: {error}.", hint=error.hint
                    ) from None
        return found

    def _group(self, name: str) -> GroupSettings:
        if name in self._groups:
            return self._groups[name]
        raise _unknown("group", name, self._groups)

    def _account(self, name: str) -> Mapping[str, str | AccountValue]:
        if name not in self._accounts:
            raise _unknown("account", name, self._accounts)
        if not (variables := self._accounts[name].env):
            hint = "`gsh-tui doctor` tells what is wrong in the configuration."
            raise FleetError("invalid", f"The account {name} sets no variables.", hint=hint)
        return variables


class _UnfetchedError(Exception):
    """A value could not be fetched; the text is the end of a sentence."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def _unknown(kind: str, name: str, known: Mapping[str, object]) -> FleetError:
    hint = known_names(f"{kind}s", sorted(known)) if known else f"Write [{kind}s.NAME] into the configuration."
    return FleetError("invalid", f"There is no {kind} {one_line(name, 40)!r}.", hint=hint)


def _expanded(value: str) -> str:
    return str(Path(value).expanduser()) if value.startswith("~/") else value


async def _fetched(value: AccountValue) -> str:
    if value.env:
        text = caller_environ().get(value.env, "")
        if not text:
            raise _UnfetchedError(f"the variable {value.env} is not set", "Set it where gsh-tui runs.")
        return text
    if value.keyring:
        return await _from_keyring(value.keyring)
    try:
        argv = shlex.split(value.command) if isinstance(value.command, str) else value.command
    except ValueError as error:
        raise _UnfetchedError(f"its command is not a valid command line ({error})") from None
    return await _printed(argv)


async def _printed(argv: list[str]) -> str:
    """The first line that a command prints. What it says otherwise is not repeated: it may be secret too."""
    program = one_line(argv[0], 60) if argv else "nothing"
    try:
        process = await processes.start_child(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, TypeError) as error:
        why = getattr(error, "strerror", None) or "it is not a command"
        raise _UnfetchedError(f"{program} cannot be started ({why})") from None
    assert process.stdout is not None
    try:
        async with time_limit(FETCHED_WITHIN):
            printed = await process.stdout.read(_LONGEST)
            while await process.stdout.read(_LONGEST):
                pass
            code = await process.wait()
    except TimeoutError:
        raise _UnfetchedError(f"{program} did not finish within {FETCHED_WITHIN:g} s") from None
    finally:
        await processes.kill_child(process)
    if code:
        raise _UnfetchedError(f"{program} failed with exit code {code}", "Run it in a shell to see why.")
    try:
        text = printed.partition(b"\n")[0].decode("utf-8").rstrip("\r")
    except UnicodeDecodeError:
        raise _UnfetchedError(f"{program} did not print text") from None
    if not text or "\0" in text:
        raise _UnfetchedError(f"{program} printed nothing")
    return text


async def _from_keyring(entry: str) -> str:
    service, _, user = entry.partition("/")
    found = await asyncio.to_thread(read_keyring, service, user, FETCHED_WITHIN)
    match found.trouble:
        case "absent":
            hint = "Install it beside gsh-tui: `pip install keyring`."
            raise _UnfetchedError("the package keyring is not installed", hint)
        case "silent":
            raise _UnfetchedError(f"the keyring did not answer within {FETCHED_WITHIN:g} s")
        case "failed":
            raise _UnfetchedError(f"the keyring failed ({found.error})")
        case "":
            pass
    if not found.text:
        hint = f"`keyring set {shlex.quote(service)} {shlex.quote(user)}` puts it there."
        raise _UnfetchedError(f"the keyring has no {one_line(entry, 80)}", hint)
    return found.text
