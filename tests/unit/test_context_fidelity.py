"""What survives a cut by our own care, whatever a summary says: the deterministic half of the fidelity test."""

import pytest

from gshtui.bus.context_data import CutKind
from gshtui.context.assembly.assembly import CutRequest
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.log.overlays import Pinned
from gshtui.providers.port import ProviderError
from tests.fidelity.planted import FILES, PIN, RULES, plant
from tests.kit.context_harness import SUMMARY, ContextHarness, SummaryModel, request_text
from tests.unit.test_context_properties import valid


@pytest.mark.parametrize("summary", [SUMMARY, ProviderError("server", "down")], ids=["a summary", "none"])
@pytest.mark.parametrize("kinds", [("compact",), ("prune", "compact"), ("compact", "compact"), ("drop", "compact")])
async def test_rules_pins_and_files_survive(kinds: tuple[CutKind, ...], summary: str | ProviderError) -> None:
    here = ContextHarness(SummaryModel(200_000, *[summary] * 4), settings=ContextSettings(protect=5_000))
    planted = plant(here, 40)
    await here.engine.terms(here.messages, here.draft)
    await here.engine.cutter.decisions.add(Pinned(block=planted.pinned))
    for kind in kinds:
        await here.engine.cut(here.messages, here.draft, kind, CutRequest("person"))
        here.add_answer("noted " * 300)
        here.add_prompt("Go on.")
        here.add_answer("more " * 300)
    here.add_prompt("Where do we stand?")
    request = (await here.prepare()).assembly.request
    text = request_text(request)
    for planted_words in (*RULES, PIN, *FILES):
        assert planted_words in text
    assert "nothing of note" not in text
    valid(request)


async def test_the_extract_keeps_what_was_done_and_said_last() -> None:
    here = ContextHarness(SummaryModel(200_000, ProviderError("server", "down")))
    plant(here, 40)
    receipt = await here.engine.cut(here.messages, here.draft, "compact", CutRequest("person"))
    assert "- bash step 39" in receipt.summary
    assert "Step 39 is done" in receipt.summary
    assert receipt.steps[0] == "The summary failed: down."
