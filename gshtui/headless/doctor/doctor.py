"""`gsh-tui doctor`: everything that may be missing or wrong, and the exact command that mends it.

Changes nothing and sends nothing but a question to a local Ollama. Exit code 1 when something needed is not right.
"""

from __future__ import annotations

import asyncio
import os

from gshtui.headless import exits
from gshtui.headless.doctor import packages, record, shells, surroundings, tools
from gshtui.headless.doctor.finding import Finding, as_data, as_text
from gshtui.headless.running import Stop, run, until_asked
from gshtui.headless.streams import result, result_json
from gshtui.headless.surroundings import here


def doctor(*, as_json: bool) -> int:
    """Examine everything and say it; gives the exit code."""
    return run(lambda stop: _told(stop, as_json))


async def _told(stop: Stop, as_json: bool) -> int:
    findings: list[Finding] = []
    manager = packages.manager()

    async def work() -> int:
        findings.extend(await examine(manager))
        return exits.ERROR if any(finding.stops for finding in findings) else exits.DONE

    code = await until_asked(work(), stop)
    if code == exits.INTERRUPTED:
        return code
    missing = [finding.package for finding in findings if finding.status == "missing" and finding.package]
    install = packages.install(missing, manager)
    if as_json:
        result_json(as_data(findings, install))
    else:
        result(as_text(findings, install))
    return code


async def examine(manager: str) -> list[Finding]:
    """All findings, by group."""
    from gshtui.settings.load import load

    loaded = await asyncio.to_thread(load, here())
    programs, providers, kept, reporting = await asyncio.gather(
        tools.examine(manager),
        surroundings.examine_providers(loaded, os.environ),
        record.examine(loaded),
        asyncio.to_thread(shells.examine, loaded),
    )
    return [
        *surroundings.examine_python(),
        *programs,
        *surroundings.examine_terminal(os.environ),
        *providers,
        *kept,
        *reporting,
        *surroundings.examine_config(loaded),
    ]
