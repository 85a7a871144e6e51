"""The language servers of a hub, and what `doctor` says of them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.hub.hub import Hub

if TYPE_CHECKING:
    from gshtui.features.code.language_servers import LanguageServers
    from gshtui.guard.sandbox.sandboxes import Sandboxes
    from gshtui.headless.program.doctor_programs import Finding
    from gshtui.settings.loader import Loaded
    from gshtui.tools.files.change_problems import ChangeChecker

_GROUP = "Language servers"


def language_servers(hub: Hub, sandboxes: Sandboxes) -> LanguageServers:
    """Those of the settings, which end with the hub."""
    from gshtui.features.code.language_servers import LanguageServers

    made = LanguageServers(hub.settings, hub.environ, sandboxes.sandbox)
    hub.parts.stops_with("language servers", made.close)
    return made


def change_checker(servers: LanguageServers) -> ChangeChecker:
    """Checks what agents change."""
    return servers


async def examine(loaded: Loaded) -> list[Finding]:
    """Which language servers are installed and may be used here; nothing is started."""
    from gshtui.features.code.language_servers import LanguageServers, is_trusted
    from gshtui.headless.program.doctor_programs import Finding

    if not loaded.settings.code.enabled:
        return [Finding(_GROUP, "all", "note", "switched off by code.enabled")]
    rows = await LanguageServers(loaded.settings, loaded.environ, None).rows()
    findings = [Finding(_GROUP, row.name, "ok", row.program) for row in rows]
    if not rows:
        known = "pyright, ruff, gopls, rust-analyzer, typescript-language-server, clangd …"
        return [Finding(_GROUP, "none", "note", f"edits are not checked; those that are known: {known}")]
    if not await asyncio.to_thread(is_trusted, Path(os.path.realpath(loaded.project))):
        findings.append(
            Finding(_GROUP, "this folder", "note", "not trusted, so none is started here", "gsh-tui config trust")
        )
    return findings
