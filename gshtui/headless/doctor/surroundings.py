"""What surrounds the workbench: Python, the terminal, keys and providers, the configuration.

Keys are named and never shown; nothing is sent to a provider but the question whether a local Ollama is there.
"""

from __future__ import annotations

import asyncio
import codecs
import locale
import os
import platform
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping

from gshtui.headless.doctor.finding import Finding
from gshtui.settings.load import Loaded

_WITHIN = 2.0
_OLLAMA = "http://127.0.0.1:11434"


def examine_python() -> list[Finding]:
    """Python itself."""
    version = platform.python_version()
    fine = sys.version_info >= (3, 11)
    fix = "" if fine else "install Python 3.11 or newer"
    return [
        Finding("System", "Python", "ok" if fine else "problem", f"{version} at {sys.executable}", fix, needed=True)
    ]


def examine_terminal(environ: Mapping[str, str]) -> list[Finding]:
    """The terminal, as far as its variables tell."""
    group = "Terminal"
    findings: list[Finding] = []
    term = environ.get("TERM", "")
    if not term or term == "dumb":
        fix = "run it in a terminal that sets TERM, such as xterm-256color"
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
        fix = "export LANG=C.UTF-8, or your own language's UTF-8"
        findings.append(Finding(group, "encoding", "problem", f"{encoding}, not UTF-8", fix))
    if os.isatty(1):
        columns, rows = shutil.get_terminal_size()
        fits = columns >= 80 and rows >= 24
        fix = "" if fits else "80x24 or more shows all panes"
        findings.append(Finding(group, "size", "ok" if fits else "note", f"{columns}x{rows}", fix))
    return findings


def examine_config(loaded: Loaded) -> list[Finding]:
    """The configuration's problems, one finding each."""
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
    """Which providers could be used: a key in the environment, or a server that answers."""
    group = "Providers"
    findings: list[Finding] = []
    for name, provider in sorted(loaded.settings.providers.items()):
        if provider.type == "ollama" or (not provider.type and name == "ollama"):
            findings.append(await _ollama(group, name, provider.base_url or address(environ.get("OLLAMA_HOST", ""))))
            continue
        variables = [provider.api_key_env] if provider.api_key_env else []
        if (provider.type or name) == "gemini":
            variables += [other for other in ("GEMINI_API_KEY", "GOOGLE_API_KEY") if other not in variables]
        found = [variable for variable in variables if environ.get(variable, "").strip()]
        if found:
            findings.append(Finding(group, name, "ok", f"{found[0]} is set"))
        elif variables:
            empty = [variable for variable in variables if variable in environ]
            detail = f"{empty[0]} is set but empty" if empty else f"{' or '.join(variables)} is not set"
            findings.append(Finding(group, name, "missing", detail, f"export {variables[0]}=…"))
    if not any(finding.status == "ok" for finding in findings):
        detail = "no key and no Ollama: the offline provider answers, which is no model"
        findings.append(Finding(group, "offline", "note", detail))
    return findings


def address(host: str) -> str:
    """The address that an `OLLAMA_HOST` means: it may lack the scheme, the host or the port."""
    if not host.strip():
        return _OLLAMA
    scheme, found, rest = host.strip().partition("://")
    if not found:
        scheme, rest = "http", host.strip()
    rest = rest.rstrip("/")
    name, has_port, port = rest.rpartition(":")
    if not has_port or not port.isdigit():
        name, port = rest, "11434" if not found else {"http": "80", "https": "443"}.get(scheme, "11434")
    return f"{scheme}://{name.replace('0.0.0.0', '127.0.0.1') or '127.0.0.1'}:{port}"


async def _ollama(group: str, name: str, base: str) -> Finding:
    try:
        async with asyncio.timeout(_WITHIN + 1):
            answers = await asyncio.to_thread(_answers, f"{base.rstrip('/')}/api/version")
    except TimeoutError:
        answers = False
    if answers:
        return Finding(group, name, "ok", f"Ollama answers at {base}")
    return Finding(group, name, "missing", f"no Ollama answers at {base}", "ollama serve (https://ollama.com/download)")


def _answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=_WITHIN) as answer:
            return answer.status == 200
    except (OSError, ValueError, urllib.error.URLError):
        return False
