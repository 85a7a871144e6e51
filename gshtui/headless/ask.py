"""`gsh WORDS…` at the prompt: the answer streams in place, questions for approval are asked there, follow-ups go on.

A turn of `gsh-tui prompt` with a person at the terminal. Called by `cli.at_prompt`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gshtui.headless import exits, streams
from gshtui.headless.line import FLEET_PARTS, STORE_ONLY, LineOptions, run_line
from gshtui.headless.prompt import PromptOptions, prompt
from gshtui.headless.running import run, until_asked
from gshtui.headless.surroundings import here, loaded_here, running
from gshtui.headless.talks import Talk

if TYPE_CHECKING:
    from gshtui.commands.declaration import Outcome


@dataclass(frozen=True, slots=True)
class AskOptions:
    """What was typed."""

    text: str = ""
    background: bool = False
    new: bool = False
    yes: bool = False
    json: bool = False
    agent: str = "main"
    provider: str = ""
    model: str = ""
    session: str = ""
    timeout: float = 0.0


def ask(options: AskOptions) -> int:
    """Do it; gives the exit code."""
    if options.background:
        return _in_background(options)
    talk = Talk(here())
    earlier = "" if options.new or options.session else _still_ours(talk.session())
    turn = PromptOptions(
        text=options.text,
        agent=options.agent,
        provider=options.provider,
        model=options.model,
        session=options.session or earlier or "new",
        timeout=options.timeout,
        yes=options.yes,
        json=options.json,
        ask=not options.yes and not options.json and os.isatty(2),
        where="gsh at a prompt",
        since=talk.asked() if earlier else 0.0,
        opened=talk.keep,
    )
    return prompt(turn)


def _still_ours(session: str) -> str:
    """The conversation to go on with; empty when it is gone, or open in a window just now."""
    if not session:
        return ""
    found: list[str] = []

    async def look() -> int:
        from gshtui.hub.options import HubOptions
        from gshtui.store.errors import StoreError

        async with running(HubOptions(cwd=here(), loaded=loaded_here(), parts=STORE_ONLY, where="gsh")) as hub:
            await hub.start()
            if hub.store is None:
                return exits.ERROR
            try:
                info = await hub.store.session(session)
            except StoreError:
                return exits.DONE
            if info.held_by:
                streams.complain(f"the conversation of this prompt is open in {info.held_by}; here a new one begins.")
            else:
                found.append(info.id)
        return exits.DONE

    run(lambda stop: until_asked(look(), stop))
    return found[0] if found else ""


def _in_background(options: AskOptions) -> int:
    from gshtui.commands.lexer import quote

    def write(outcome: Outcome) -> None:
        if options.json:
            streams.result_json(outcome.data)
            return
        data = outcome.data
        name = data.get("session_name") or data["id"]
        streams.result(f"[gsh] Started agent {name} (background).")
        if data.get("attach"):
            streams.result(f"[gsh] Watch it: {data['attach']}, or ctrl+x ctrl+a")
        streams.result(f"[gsh] Its report, once it is done: gsh show {str(data['id']).lstrip('0') or data['id']}")

    if not options.text.strip():
        streams.complain("there is nothing to do. Give the words: gsh --background explore how login works")
        return exits.USAGE
    words = ["spawn", "background=true", f"prompt={quote(options.text)}"]
    for name, value in (("model", options.model), ("provider", options.provider)):
        words += [f"{name}={quote(value)}"] if value else []
    return run_line(LineOptions(" ".join(words), parts=FLEET_PARTS, write=write))
