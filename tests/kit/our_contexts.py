"""A router of contexts to which every agent is one of ours, over a context service of a test's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from gshtui.context.commands.context_router import ContextRouter
from gshtui.programs.transcripts.reconstruction import Transcripts
from gshtui.providers.port import Capabilities

if TYPE_CHECKING:
    from gshtui.context.service import ContextService
    from tests.kit.recorded_contexts import RecordedContexts
    from tests.kit.told_contexts import ToldContexts


def _known(_model: str) -> Capabilities:
    return Capabilities()


def ours_alone(service: ToldContexts | RecordedContexts) -> ContextRouter:
    """A router without a roster: nothing it is asked for is another program's."""
    transcripts = lambda: Transcripts(_known, {}, Path("/nowhere"))  # noqa: E731
    return ContextRouter(cast("ContextService", service), None, transcripts, _known)
