"""`python -m tests.fidelity [--provider P] [--model M]`: what a real model's summary keeps, question by question.

Needs the provider's key, costs some cents, and ends with 1 when less than three quarters of the facts survive or when
anything that we carry ourselves is missing. No part of the test run: models differ, and so do their days.
"""

import argparse
import asyncio
import os
import sys
from typing import Any

from msgspec.structs import replace

from gshtui.bus.messages import Message, Text
from gshtui.context.assembly.assembly import CutRequest
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.log.overlays import Pinned
from gshtui.providers.port import Completed, Provider, ProviderError, Request
from gshtui.providers.selection import choose_model
from gshtui.settings.model import Settings
from gshtui.system.ids import new_id
from tests.fidelity.planted import FACTS, FILES, PIN, RULES, plant
from tests.kit.context_harness import ContextHarness, request_text


def main() -> int:
    """Run and print; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--provider", default="")
    parser.add_argument("--model", default="")
    parser.add_argument("--filler", type=int, default=40, help="rounds of work between what is planted")
    return asyncio.run(_run(parser.parse_args()))


async def _run(wanted: argparse.Namespace) -> int:
    try:
        choice = await choose_model(Settings(), os.environ, provider=wanted.provider, model=wanted.model)
    except ProviderError as error:
        print(f"{error.message} {error.hint}")
        return 2
    if choice.provider.name == "offline":
        print("No key and no local model: there is nothing to ask. The deterministic half runs with the tests.")
        return 2
    model: Any = choice.provider
    here = ContextHarness(model, settings=ContextSettings())
    planted = plant(here, wanted.filler)
    draft = replace(here.draft, model=choice.model)
    await here.engine.terms(here.messages, draft)
    await here.engine.cutter.decisions.add(Pinned(block=planted.pinned))
    receipt = await here.engine.cut(here.messages, draft, "compact", CutRequest("person"))
    prepared = await here.engine.prepare(here.messages, draft)
    text = request_text(prepared.assembly.request)
    missing = [one for one in (*RULES, PIN, *FILES) if one not in text]
    print(
        f"{receipt.tokens_before:,} → {receipt.tokens_after:,} tokens; carried by us and missing: {missing or 'none'}"
    )
    kept = 0
    for question, answers in FACTS.items():
        said = await _asked(choice.provider, prepared.assembly.request, question)
        good = any(answer.lower() in said.lower() for answer in answers)
        kept += good
        print(f"{'kept' if good else 'LOST'}  {question} {' '.join(said.split())[:100]}")
    await choice.provider.close()
    print(f"{kept} of {len(FACTS)} facts survive the summary.")
    return 1 if missing or kept * 4 < len(FACTS) * 3 else 0


async def _asked(provider: Provider, request: Request, question: str) -> str:
    asked = Message(new_id(), "user", (Text(f"{question} Answer in one short line, from what you know; no tools."),))
    async for delta in provider.stream(replace(request, messages=(*request.messages, asked))):
        if isinstance(delta, Completed):
            return delta.message.text
    return ""


if __name__ == "__main__":
    sys.exit(main())
