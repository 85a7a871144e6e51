"""A router of contexts to which every agent is one of ours, over a context service of a test's."""

from pathlib import Path
from typing import Any, cast

from gshtui.context.commands.context_router import ContextRouter
from gshtui.programs.transcripts.reconstruction import Transcripts
from gshtui.providers.port import Capabilities
from tests.kit.fixed_contexts import FixedContexts
from tests.kit.recorded_contexts import RecordedContexts


def _known(_model: str) -> Capabilities:
    return Capabilities()


def router_without_programs(service: FixedContexts | RecordedContexts) -> ContextRouter:
    """A router without a roster: nothing it is asked for is another program's."""
    transcripts = lambda: Transcripts(_known, {}, Path("/nowhere"))  # noqa: E731
    of_tests = cast("Any", service)
    return ContextRouter(of_tests, of_tests, None, transcripts, _known)
