"""Whether the person's shells report, and what stands in the way: what `gsh-tui shell status` finds, as findings.

Starts zsh once to ask it for its modules; changes nothing. Called by the doctor.
"""

from __future__ import annotations

from gshtui.headless.doctor.finding import Finding
from gshtui.headless.shell_status import look
from gshtui.settings.load import Loaded
from gshtui.settings.paths import FolderError

_GROUP = "Shells"


def examine(loaded: Loaded) -> list[Finding]:
    """The plugin and each problem with it."""
    try:
        facts = look(loaded)
    except FolderError as error:
        return [Finding(_GROUP, "plugin", "problem", str(error))]
    if facts.installed:
        findings = [Finding(_GROUP, "plugin", "ok", f"loaded by {', '.join(facts.installed.values())}")]
    else:
        findings = [Finding(_GROUP, "plugin", "note", "in no start-up file", "gsh-tui shell install")]
    if facts.paused:
        findings.append(Finding(_GROUP, "recording", "note", "paused", "gsh-tui shell resume"))
    return [*findings, *(Finding(_GROUP, "plugin", "problem", problem) for problem in facts.problems)]
