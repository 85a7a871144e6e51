"""`always` in real terminals: the rule is shown first, edited in one's editor, saved, and counts from then on."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from gshtui.guard.approval.answer_keys import PAUSE
from gshtui.guard.rules.rule_book import read_rules
from gshtui.guard.rules.rule_file import own_file
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError
from tests.kit.command import command, environment
from tests.kit.home import Home
from tests.kit.native_agents import prepare_spec
from tests.kit.tmux import eventually, tmux

__all__ = ["tmux"]
pytestmark = pytest.mark.tmux


async def pressed(tmux: TmuxServer, pane: str, key: str, *words: str, made: Path | None = None) -> str:
    """What is there once the key was understood; it is pressed again, as a person does, after a pause.

    `made`: the file that it leads to, after which the program may have ended.
    """
    clock = asyncio.get_running_loop().time
    last = 0.0

    async def look() -> str:
        nonlocal last
        text = "\n".join(await tmux.capture(pane, start=-500, styled=False, join=True))
        if all(word in text for word in words) if made is None else made.exists():
            return text or "done"
        if clock() - last > 2 * PAUSE:
            last = clock()
            with contextlib.suppress(TmuxError):  # it has ended
                await tmux.send_keys(pane, key)
        return ""

    return await eventually(look)


async def test_at_a_shell_prompt_the_rule_is_edited_and_saved(tmux: TmuxServer, home: Home, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "why = \\"mine\\"\\n" >> "$1"\n')
    editor.chmod(0o700)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    env = environment({"EDITOR": str(editor)})
    pane = (await tmux.spawn("prompt", command(["gsh", "run touch made"]), cwd=project, env=env)).pane
    await pressed(tmux, pane, "3", 'program = "touch"', "enter to save it and allow")
    assert read_rules(own_file()).rules == ()
    await pressed(tmux, pane, "e", 'why = "mine"')
    await pressed(tmux, pane, "Enter", made=project / "made")
    [rule] = read_rules(own_file()).rules
    assert (rule.program, rule.why, rule.project) == (("touch",), "mine", str(project))


async def test_in_an_agents_pane_the_rule_is_printed_and_confirmed(
    tmux: TmuxServer, home: Home, tmp_path: Path
) -> None:
    _, file = prepare_spec(tmp_path, "run touch made")
    argv = command(["agent", "run", "--spec", str(file)])
    pane = (await tmux.spawn("gsh-agent-0012", argv, cwd=tmp_path, env=environment(), width=80, height=24)).pane

    async def shown(*words: str) -> None:

        async def look() -> bool:
            text = "\n".join(await tmux.capture(pane, styled=False, join=True))
            return all(word in text for word in words)

        await eventually(look)

    for back in (True, False):
        await shown("1 allow once", "3 always")
        await tmux.type_bytes(pane, b"3")
        await tmux.send_keys(pane, "Enter")
        await shown("it would let run without a question", 'program = "touch"', "enter to save this rule")
        assert read_rules(own_file()).rules == ()
        if back:
            await tmux.send_keys(pane, "C-c")
    await pressed(tmux, pane, "Enter", made=tmp_path / "made")
    assert [rule.program for rule in read_rules(own_file()).rules] == [("touch",)]
