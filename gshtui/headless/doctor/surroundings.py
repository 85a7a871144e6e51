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
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gshtui.headless.doctor.finding import Finding
from gshtui.settings.load import Loaded

if TYPE_CHECKING:
    from gshtui.providers.places import Candidate

_WITHIN = 2.0
"""Seconds that an Ollama has to answer."""
_PROVIDERS = "Providers"


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
    """Which providers could be used (a key in the environment, or a server that answers), and which one would be."""
    from gshtui.providers.places import candidates
    from gshtui.providers.port import ProviderError
    from gshtui.providers.select import choose

    found = candidates(loaded.settings, environ).values()
    findings = list(await asyncio.gather(*(_provider(candidate, environ) for candidate in found)))
    try:
        choice = await choose(loaded.settings, environ)
    except ProviderError as error:
        return [*findings, Finding(_PROVIDERS, "in use", "problem", error.message, error.hint)]
    await choice.provider.close()
    status = "note" if choice.provider.name == "offline" else "ok"
    return [*findings, Finding(_PROVIDERS, "in use", status, f"{choice.label}: {choice.why}")]


async def _provider(candidate: Candidate, environ: Mapping[str, str]) -> Finding:
    name = candidate.name
    if candidate.api == "ollama":
        from gshtui.providers.probe import ollama_models

        models = await ollama_models(candidate.base_url, _WITHIN)
        if models is None:
            detail = f"no Ollama answers at {candidate.base_url}"
            return Finding(_PROVIDERS, name, "missing", detail, "ollama serve (https://ollama.com/download)")
        if not models:
            detail = f"Ollama answers at {candidate.base_url}, without a model"
            return Finding(_PROVIDERS, name, "missing", detail, f"ollama pull {candidate.default_model or 'llama3.2'}")
        return Finding(_PROVIDERS, name, "ok", f"Ollama answers at {candidate.base_url}; {len(models)} models")
    variable = candidate.key_variable
    if candidate.keyed:
        return Finding(_PROVIDERS, name, "ok", f"{variable} is set" if candidate.key else "its server needs no key")
    detail = f"{variable} is {'set but empty' if variable in environ else 'not set'}"
    return Finding(_PROVIDERS, name, "missing", detail, f"export {variable}=…")
