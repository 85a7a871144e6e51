"""`gsh-tui doctor`: finds what is missing or wrong, and names the exact command that fixes it."""

from __future__ import annotations

import asyncio
import codecs
import locale
import os
import platform
import resource
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.client.hub_greeting import HubUnavailable
from gshtui.headless import exits
from gshtui.headless.called_here import working_folder
from gshtui.headless.program import doctor_programs
from gshtui.headless.program.doctor_programs import Finding, as_data, as_text
from gshtui.headless.runner import Stop, run_command, until_stopped
from gshtui.headless.shells.shell_plugin import OUTPUTS_LOST, inspect_shells
from gshtui.headless.streams import result, result_json
from gshtui.settings import paths
from gshtui.settings.contract import brought
from gshtui.settings.loader import Loaded
from gshtui.settings.paths import FolderError
from gshtui.system.face_mark import can_mark
from gshtui.system.network import proxy_routes
from gshtui.system.processes.time_limit import time_limit

if TYPE_CHECKING:
    from gshtui.providers.candidates import ProviderCandidate

GROUP = "Record"
_MACHINE = "Machine"
_TEMPORARY = 1 << 20
"""Bytes that the temporary folder should take."""
_FILES = 256
"""Open files that a process should be allowed."""
LONGEST_SOCKET = 107 if sys.platform == "linux" else 103
"""Bytes that the path of a socket may have."""
LITTLE = 200 * 1024 * 1024
"""Less free disk space than this, in bytes, is a problem."""


async def examine_record(loaded: Loaded) -> list[Finding]:
    folder = loaded.settings.general.session_dir
    findings = [
        _folder("data folder", folder),
        _folder("state folder", paths.state_dir(create=False)),
        _runtime(),
        _answers(),
    ]
    findings.append(_room(folder))
    findings.append(hub := await asyncio.to_thread(_hub, folder))
    if hub.status != "problem":  # nobody else opens what one that hangs has open
        findings += await _file(folder / "gsh.db", loaded)
    return findings


def _hub(folder: Path) -> Finding:
    from gshtui.fleet.keeper import keeper_commands

    try:
        report = keeper_commands.keeper_report(folder)
    except HubUnavailable as error:
        return Finding(GROUP, "hub", "note", error.message, error.hint)
    if not report.answers:
        return Finding(GROUP, "hub", "problem", *keeper_commands.unreached(report), needed=True)
    return Finding(GROUP, "hub", "ok", f"pid {report.pid}" if report.running else "starts when it is needed")


def _nearest(folder: Path) -> Path:
    """It, or what it would be made in."""
    while not os.path.exists(folder) and folder != folder.parent:  # noqa: PTH110 - also of a path that is refused
        folder = folder.parent
    return folder


def _folder(name: str, folder: Path) -> Finding:
    existing = _nearest(folder)
    if not existing.is_dir():
        return Finding(GROUP, name, "problem", f"{existing} is not a folder", f"mv {existing} {existing}.old", True)
    if not os.access(existing, os.W_OK | os.X_OK):
        return Finding(GROUP, name, "problem", f"cannot write to {existing}", f"chmod u+rwx {existing}", True)
    if existing != folder:
        return Finding(GROUP, name, "ok", f"{folder} will be created when it is needed", needed=True)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        fix = f"sudo chown -R {os.geteuid()} {folder}"
        return Finding(GROUP, name, "problem", f"{folder} belongs to user {found.st_uid}, not to you", fix, True)
    if stat.S_IMODE(found.st_mode) & 0o077:
        return Finding(GROUP, name, "problem", f"other users can access {folder}", f"chmod 700 {folder}", True)
    return Finding(GROUP, name, "ok", str(folder), needed=True)


def _runtime() -> Finding:
    try:
        return Finding(GROUP, "runtime folder", "ok", str(paths.runtime_dir()), needed=True)
    except OSError as error:
        return Finding(GROUP, "runtime folder", "problem", str(error), "export XDG_RUNTIME_DIR=…", needed=True)


def _answers() -> Finding:
    if can_mark():
        return Finding(GROUP, "answers", "ok", "no agent can type into a window or question of gsh-tui")
    said = "this system does not show which terminals ask you, so an agent that may use terminals could type there"
    return Finding(GROUP, "answers", "problem", said, "gsh-tui config set agent.mode ask")


def _room(folder: Path) -> Finding:
    existing = _nearest(folder)
    try:
        free = shutil.disk_usage(existing).free
    except OSError as error:
        return Finding(GROUP, "free disk", "problem", f"unknown: {error.strerror or error}")
    said = f"{free / 1024**3:.1f} GB"
    if free < LITTLE:
        return Finding(GROUP, "free disk", "problem", said, "free some space: the record cannot grow", needed=True)
    return Finding(GROUP, "free disk", "ok", said, needed=True)


async def _file(file: Path, loaded: Loaded) -> list[Finding]:
    if not os.path.exists(file):  # noqa: PTH110 - also of a path that is refused
        return [Finding(GROUP, "record", "ok", f"{file} will be created when it is needed", needed=True)]
    from gshtui.store.engine.store_errors import StoreError
    from gshtui.store.record.store import Store

    notices: list[str] = []
    try:
        synchronous = loaded.settings.store.synchronous
        store = await Store.open(
            file, synchronous=synchronous, on_notice=lambda text, hint: notices.append(f"{text} {hint}".rstrip())
        )
    except StoreError as error:
        return [Finding(GROUP, "record", "problem", error.message, error.hint, needed=True)]
    try:
        faults = await store.check()
    except StoreError as error:
        faults = [error.message]
    finally:
        await store.close()
    findings = [Finding(GROUP, "record", "note", notice) for notice in notices]
    if faults:
        fix = "close every gsh-tui, then start one: it recovers what is readable, and keeps the damaged file"
        return [*findings, Finding(GROUP, "record", "problem", f"{file}: {'; '.join(faults[:3])}", fix, needed=True)]
    size = file.stat().st_size / 1024**2
    return [*findings, Finding(GROUP, "record", "ok", f"{file} is sound ({size:.1f} MB)", needed=True)]


_GROUP = "Shells"


def examine_shells(loaded: Loaded) -> list[Finding]:
    try:
        facts = inspect_shells(loaded)
    except FolderError as error:
        return [Finding(_GROUP, "plugin", "problem", str(error))]
    if facts.installed:
        findings = [Finding(_GROUP, "plugin", "ok", f"loaded by {', '.join(facts.installed.values())}")]
    else:
        findings = [Finding(_GROUP, "plugin", "note", "not in any start-up file", "gsh-tui shell install")]
    if facts.paused:
        findings.append(Finding(_GROUP, "recording", "note", "paused", "gsh-tui shell resume"))
    if not facts.outputs_kept:
        findings.append(Finding(_GROUP, "outputs", "note", OUTPUTS_LOST, "tmux new-session"))
    return [*findings, *(Finding(_GROUP, "plugin", "problem", problem) for problem in facts.problems)]


_WITHIN = 2.0
"""Seconds that an Ollama has to answer."""
_PROVIDERS = "Providers"
_NETWORK = "Network"


_NOT_EVERYWHERE = (
    ("tree-sitter", "tree_sitter", "each shell line of an agent asks, and files have no outlines"),
    ("agent-client-protocol", "acp", "agents over ACP do not run"),
)
_OLDER = "run gsh-tui with Python 3.14 or older"


def examine_python() -> list[Finding]:
    version = platform.python_version()
    fine = sys.version_info >= (3, 11)
    fix = "" if fine else "install Python 3.11 or newer"
    missing = [
        Finding(
            "System",
            package,
            "note",
            f"not installed: without it {lost}; it has no package for every Python yet",
            _OLDER,
        )
        for package, module, lost in _NOT_EVERYWHERE
        if find_spec(module) is None
    ]
    return [
        Finding("System", "Python", "ok" if fine else "problem", f"{version} at {sys.executable}", fix, needed=True),
        *missing,
    ]


def examine_terminal(environ: Mapping[str, str]) -> list[Finding]:
    """Examine the terminal, as far as the environment describes it."""
    group = "Terminal"
    findings: list[Finding] = []
    term = environ.get("TERM", "")
    if not term or term == "dumb":
        fix = "use a terminal that sets TERM, for example to xterm-256color"
        findings.append(Finding(group, "TERM", "problem", term or "not set", fix))
    else:
        findings.append(Finding(group, "TERM", "ok", term))
    colour = environ.get("COLORTERM", "")
    if colour in ("truecolor", "24bit"):
        findings.append(Finding(group, "colour", "ok", colour))
    else:
        fix = "export COLORTERM=truecolor, if your terminal has true colour"
        findings.append(Finding(group, "colour", "note", f"COLORTERM is {colour or 'not set'}; 256 colours", fix))
    encoding = locale.getpreferredencoding(False)
    if codecs.lookup(encoding).name == "utf-8":
        findings.append(Finding(group, "encoding", "ok", "UTF-8"))
    else:
        fix = "export LANG=C.UTF-8, or the UTF-8 locale of your language"
        findings.append(Finding(group, "encoding", "problem", f"{encoding}, not UTF-8", fix))
    socket = Path(environ.get("TMUX_TMPDIR") or "/tmp") / f"tmux-{os.getuid()}" / "gsh"
    if len(os.fsencode(socket)) > LONGEST_SOCKET:
        fix = "set TMUX_TMPDIR to a folder with a shorter path"
        said = f"the path of tmux's socket would be too long ({socket.parent.parent})"
        findings.append(Finding(group, "TMUX_TMPDIR", "problem", said, fix))
    if os.isatty(1):
        columns, rows = shutil.get_terminal_size()
        fits = columns >= 61 and rows >= 20
        fix = "" if fits else "61x20 or more has room for everything"
        findings.append(Finding(group, "size", "ok" if fits else "note", f"{columns}x{rows}", fix))
    return findings


def examine_config(loaded: Loaded) -> list[Finding]:
    """The configuration's problems, one finding per problem."""
    problems = [
        Finding(
            "Configuration",
            problem.key or "file",
            "problem" if problem.level == "warning" else "note",
            str(problem),
            "gsh-tui config edit" if problem.origin.layer == "user" else "",
        )
        for problem in loaded.problems
    ]
    return problems or [Finding("Configuration", "settings", "ok", "no mistakes")]


async def examine_providers(loaded: Loaded, environ: Mapping[str, str]) -> list[Finding]:
    """Which providers are usable (a key in the environment, or a server that answers), and which one is in use."""
    from gshtui.providers.candidates import HOSTS, candidates
    from gshtui.providers.port import ProviderError
    from gshtui.providers.selection import choose_model
    from gshtui.settings.known_providers import KNOWN_PROVIDERS

    # Clouds and gateways are for those who have set one up.
    asked = {*KNOWN_PROVIDERS} - {*HOSTS} | {*loaded.settings.providers}
    found = [one for one in candidates(loaded.settings, environ).values() if one.name in asked or one.keyed or one.key]
    findings = list(await asyncio.gather(*(_provider(candidate, environ) for candidate in found)))
    try:
        choice = await choose_model(loaded.settings, environ)
    except ProviderError as error:
        return [*findings, Finding(_PROVIDERS, "in use", "problem", error.message, error.hint)]
    await choice.provider.close()
    status = "note" if choice.provider.name == "offline" else "ok"
    return [*findings, Finding(_PROVIDERS, "in use", status, f"{choice.label}: {choice.why}")]


async def examine_network(environ: Mapping[str, str]) -> list[Finding]:
    """The variables that name proxies and certificates: what cannot be used, and what is. Connects to the proxies."""
    faults = proxy_routes.faults(environ)
    found = [Finding(_NETWORK, "environment", "problem", fault.message, fault.hint) for fault in faults]
    silent = await asyncio.gather(*(_tried(route) for route in proxy_routes.proxies(environ)))
    found += [finding for finding in silent if finding is not None]
    used = proxy_routes.in_use(environ)
    return found or ([Finding(_NETWORK, "environment", "ok", ", ".join(used))] if used else [])


async def _tried(route: proxy_routes.ProxyRoute) -> Finding | None:
    """What is wrong with a proxy; `None`: it takes connections."""
    from urllib.parse import urlsplit

    parts = urlsplit(route.proxy)
    usual = {"https": 443, "http": 80}.get(parts.scheme, 1080)
    try:
        async with time_limit(_WITHIN):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or usual)
        writer.close()
    except (OSError, TimeoutError) as error:
        why = getattr(error, "strerror", "") or str(error) or "no answer"
        named = proxy_routes.without_credentials(route.proxy)
        detail = f"no connection to the proxy {named} of {route.variable}: {why}"
        return Finding(_NETWORK, route.variable, "problem", detail, f"unset {route.variable}, or start the proxy")
    return None


def examine_machine() -> list[Finding]:
    """What of the machine may be too narrow: the temporary folder, and how many files may be open."""
    found: list[Finding] = []
    try:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(_TEMPORARY))
        found.append(Finding(_MACHINE, "temporary files", "ok", tempfile.gettempdir()))
    except OSError as error:
        detail = f"none can be written: {error.strerror or error}"
        found.append(Finding(_MACHINE, "temporary files", "problem", detail, "free some space, or export TMPDIR=…"))
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= most < _FILES:
        detail = f"{most} at most, and a window with agents has more"
        found.append(Finding(_MACHINE, "open files", "problem", detail, "ulimit -n 4096"))
    return found


async def _provider(candidate: ProviderCandidate, environ: Mapping[str, str]) -> Finding:
    name = candidate.name
    if candidate.api == "ollama":
        from gshtui.providers.selection import ollama_models

        models = await ollama_models(candidate.base_url, _WITHIN)
        if models is None:
            detail = f"no answer from Ollama at {candidate.base_url}"
            return Finding(_PROVIDERS, name, "missing", detail, "ollama serve (https://ollama.com/download)")
        if not models:
            detail = f"Ollama at {candidate.base_url} has no models"
            return Finding(_PROVIDERS, name, "missing", detail, f"ollama pull {candidate.default_model or 'llama3.2'}")
        count = f"{len(models)} {'model' if len(models) == 1 else 'models'}"
        return Finding(_PROVIDERS, name, "ok", f"Ollama at {candidate.base_url} has {count}")
    variable = candidate.key_variable
    if candidate.cloud is not None:
        return await _cloud(candidate)
    if candidate.keyed:
        return Finding(_PROVIDERS, name, "ok", f"{variable} is set" if candidate.key else "its server needs no key")
    detail = f"{variable} is {'set but empty' if variable in environ else 'not set'}"
    return Finding(_PROVIDERS, name, "missing", detail, f"export {variable}=…")


async def _cloud(candidate: ProviderCandidate) -> Finding:
    """A cloud: what its vendor's library finds, without asking the cloud itself."""
    from gshtui.providers.candidates import make_provider, warm_or_raise
    from gshtui.providers.catalog import Catalog
    from gshtui.providers.port import ProviderError

    try:
        candidate.check()
        provider = make_provider(candidate, Catalog())
        try:
            await warm_or_raise(provider)
        finally:
            await provider.close()
    except ProviderError as error:
        return Finding(_PROVIDERS, candidate.name, "missing", error.message, error.hint)
    return Finding(_PROVIDERS, candidate.name, "ok", candidate.why_usable)


async def examine_sandbox(loaded: Loaded) -> list[Finding]:
    """Whether the sandbox of agents' commands holds here: the known ways out are tried anew."""
    from gshtui.guard.sandbox.sandbox import find_bubblewrap
    from gshtui.guard.sandbox.self_test import try_escapes

    name, less = "sandbox", "--yes covers fewer commands"
    if not loaded.settings.sandbox.enabled:
        detail = f"switched off by sandbox.enabled; {less}"
        return [Finding(doctor_programs.GROUP, name, "note", detail)]
    if not (program := await asyncio.to_thread(find_bubblewrap)):
        return []  # which is said of bubblewrap
    try:
        with tempfile.TemporaryDirectory(prefix=".gsh-doctor-", dir=Path.home()) as base:
            why = await try_escapes(program, Path(base))
    except OSError as error:
        why = f"it cannot be tried in {Path.home()}: {error.strerror or error}"
    if why:
        fix = "allow bubblewrap to make user namespaces (kernel.apparmor_restrict_unprivileged_userns=0)"
        return [Finding(doctor_programs.GROUP, name, "problem", f"not used, {less}: {why}", fix)]
    return [Finding(doctor_programs.GROUP, name, "ok", "holds: no known way out of it works here")]


async def examine_features(loaded: Loaded) -> list[Finding]:
    """What our features say of what they need."""
    return [each for one in brought("findings", loaded.settings.features) for each in await one.load()(loaded)]


def doctor(*, as_json: bool, host: str = "") -> int:
    """Examine everything, or one other machine, and print the findings; returns the exit code."""
    return run_command(lambda stop: _report_stop(stop, as_json, host))


async def _report_stop(stop: Stop, as_json: bool, host: str) -> int:
    findings: list[Finding] = []
    manager = doctor_programs.package_manager()

    async def work() -> int:
        findings.extend(await (examine_other_machine(host) if host else examine(manager)))
        return exits.ERROR if any(finding.stops for finding in findings) else exits.DONE

    code = await until_stopped(work(), stop)
    if code == exits.INTERRUPTED:
        return code
    missing = [finding.package for finding in findings if finding.status == "missing" and finding.package]
    install = doctor_programs.install_command(missing, manager)
    if as_json:
        result_json(as_data(findings, install))
    else:
        result(as_text(findings, install))
    return code


async def examine_other_machine(name: str) -> list[Finding]:
    """All findings about a host of the configuration."""
    from gshtui.hosts.host_checks import examine_host
    from gshtui.hosts.host_link import HostLinks
    from gshtui.settings.loader import load

    loaded = await asyncio.to_thread(load, working_folder())
    found = await examine_host(HostLinks(loaded.settings.hosts, paths.runtime_dir, loaded.environ).link(name))
    return [
        Finding(f"Host {name}", one.name, one.status, one.detail, one.fix, needed=one.status != "note") for one in found
    ]


async def examine(manager: str) -> list[Finding]:
    from gshtui.settings.loader import load

    loaded = await asyncio.to_thread(load, working_folder())
    programs, agents, sandbox, providers, kept, reporting, features, network = await asyncio.gather(
        doctor_programs.examine_programs(manager),
        doctor_programs.examine_agents(),
        examine_sandbox(loaded),
        examine_providers(loaded, os.environ),
        examine_record(loaded),
        asyncio.to_thread(examine_shells, loaded),
        examine_features(loaded),
        examine_network(os.environ),
    )
    return [
        *examine_python(),
        *programs,
        *sandbox,
        *agents,
        *features,
        *examine_terminal(os.environ),
        *network,
        *examine_machine(),
        *providers,
        *kept,
        *reporting,
        *examine_config(loaded),
    ]
