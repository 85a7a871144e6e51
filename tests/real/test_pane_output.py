"""What commands print in a real zsh inside a real tmux is kept, read off the pane and nothing else done to it."""

import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.shell_events import ShellRecorded
from gshtui.bus.shell_data import ShellRecord
from gshtui.settings import paths
from gshtui.shell.log.pane_output import PromptHabit, printed
from gshtui.shell.log.shell_log import ShellLog, ShellLogOptions
from gshtui.store.record.store import Store
from gshtui.tmux.server import TmuxServer
from tests.kit.home import Home
from tests.kit.shells import BASH_PLUGIN, zsh
from tests.kit.storms import FULL
from tests.kit.tmux import eventually, private_server

NAMES = ("ZDOTDIR", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
PLUGIN = Path(__file__).parents[2] / "gshtui" / "shell" / "gsh.plugin.zsh"


@dataclass
class Pane:
    """A zsh with the plugin in a pane, and the shell log that hears it."""

    server: TmuxServer
    pane: str
    store: Store
    told: list[Event]
    prompt: str
    """The last line of its prompt."""

    async def ran(self, line: str) -> ShellRecord:
        """Type a command; its record once it is done."""
        return await self._run(line, lambda record: True)

    async def printed(self, line: str) -> str:
        """Type a command; what was kept of what it printed."""
        return await self.store.outputs.get((await self._run(line, lambda record: bool(record.output))).output)

    async def _run(self, line: str, wanted: Callable[[ShellRecord], bool]) -> ShellRecord:
        start = len(self.told)

        async def look() -> list[ShellRecord]:
            events = [event.record for event in self.told[start:] if isinstance(event, ShellRecorded)]
            return [record for record in events if record.state == "done" and wanted(record)]

        await eventually(self.is_at_prompt)  # what is typed before that, the terminal shows as if it were output
        await self.server.send_text(self.pane, line, enter=True)
        return (await eventually(look))[-1]

    async def is_at_prompt(self) -> bool:
        """Whether the last that stands in the pane is the prompt."""
        rows = [row.strip() for row in await self.server.capture(self.pane, styled=False)]
        return next((row for row in reversed(rows) if row), "") == self.prompt


@contextlib.asynccontextmanager
async def terminal(home: Home, *, prompt: str = "here %% ", lines: int = 20) -> AsyncGenerator[Pane]:
    (home.path / ".zshrc").write_text(f"PROMPT=$'{prompt}'\nsource {PLUGIN}\n")
    store = await Store.open(paths.data_dir() / "gsh.db")
    bus, told = Bus(), list[Event]()
    bus.subscribe(told.extend, name="test")
    terms = ShellLogOptions(paths.runtime_dir() / "gsh.sock", paths.data_dir(), home.path, 0, output_lines=lines)
    log = ShellLog(bus, store, terms, lambda text: text.replace("s3cret", "[redacted]"))
    await log.start()
    environ = {name: os.environ[name] for name in NAMES if name in os.environ}
    try:
        async with private_server() as server:
            pane = await server.spawn("gsh-shell", [zsh(), "-i"], cwd=home.path, env=environ, width=80, height=24)
            yield Pane(server, pane.pane, store, told, prompt.replace("%%", "%").split("\\n")[-1].strip())
    finally:
        await log.stop()
        await bus.close()
        await store.close()


async def test_what_a_command_printed_is_kept_without_prompt_and_command(home: Home) -> None:
    async with terminal(home) as shell:
        assert await shell.printed("print -l one 'two  three'") == "one\ntwo  three\n"
        assert await shell.printed("print -n unfinished") == "unfinished\n"
        assert await shell.printed("print -P '%F{red}s3cret%f'; false") == "[redacted]\n"
        assert await shell.printed("for a in 1 2; do; print $a; done") == "1\n2\n"
        long = await shell.printed("print -l {1..200}")
        assert long == "[180 lines above this were not kept]\n" + "".join(f"{n}\n" for n in range(181, 201)) or (
            long.startswith("[more above") and long.endswith("\n199\n200\n")
        )
        wide = await shell.printed("print " + "x" * 150)
        assert wide == "x" * 150 + "\n"


async def test_nothing_is_kept_of_silence_and_full_screen_programs(home: Home) -> None:
    async with terminal(home) as shell:
        await shell.ran("true")
        await shell.ran("tput smcup; print hidden; tput rmcup")
        await shell.ran("clear")
        assert await shell.printed("print end") == "end\n"
        rows = await shell.store.shells.find_all()
        assert [row.command for row in rows if row.output] == ["print end"]


async def test_lines_above_a_prompt_of_two_lines_are_not_output(home: Home) -> None:
    async with terminal(home, prompt="\\nin the house\\n> ") as shell:
        await shell.printed("print first")
        assert await shell.printed("print second") == "second\n"
        assert await shell.printed("print third") == "third\n"


async def test_none_is_looked_for_where_none_is_wanted(home: Home) -> None:
    async with terminal(home, lines=0) as shell:
        await shell.ran("print nothing")
        await shell.ran("print more")
        assert all(not row.output for row in await shell.store.shells.find_all())


@pytest.mark.parametrize(
    ("screen", "command", "expected"),
    [
        (["% ls", "a", "b", "% "], "ls", ("a", "b")),
        (["% ls", "a", "% ls", "% "], "ls", ()),
        (["% echo hi            12:00", "hi", "%                     12:01"], "echo hi", ("hi",)),
        (["% ls", "a", "still running"], "ls", None),
        (["a", "b", "% "], "ls", None),
        (["% curl -H 'k: 123' x", "ok", "% "], "curl -H 'k: [redacted]' x", ("ok",)),
        (["% for a in 1", "for> do echo $a", "for> done", "1", "% "], "for a in 1\ndo echo $a\ndone", ("1",)),
        ([], "ls", None),
    ],
)
def test_where_it_begins_and_ends(screen: list[str], command: str, expected: tuple[str, ...] | None) -> None:
    found = printed(screen, command, PromptHabit(), scrolled=False)
    assert (None if found is None else found.lines) == expected


FAILS = "bash -c 'echo test auth FAILED; exit 3'"
ASKS = "gsh plain"
BEFORE: dict[str, tuple[list[str], dict[str, str]]] = {
    "failed, then more": ([FAILS, "seq 1 30"], {FAILS: "test auth FAILED\n", "seq 1 30": "…29\n30\n"}),
    "private": (["echo before", " echo hidden", "echo after"], {"echo after": "after\n"}),
    "long": (["seq 1 5000 | tail -n +1; (exit 2)"], {"seq 1 5000 | tail -n +1; (exit 2)": "…4999\n5000\n"}),
    "the same twice": (["echo one", "echo one"], {"echo one": "one\n"}),
    "its own name": (["echo gsh plain", "echo two"], {"echo gsh plain": "gsh plain\n", "echo two": "two\n"}),
    "private at last": (["echo before", " echo hidden"], {}),
    "cleared": (["echo before", "clear", "echo after"], {"echo after": "after\n"}),
}
"""What is typed before the first question of all, and what is known then of what it printed."""


@pytest.mark.parametrize("case", list(BEFORE)[: None if FULL else 2])
@pytest.mark.parametrize("shell", ["zsh", "bash"])
async def test_what_was_printed_before_anything_listened(home: Home, shell: str, case: str) -> None:
    typed, wanted = BEFORE[case]
    rc = (
        f"unset TMOUT; PS1='here %% '\nsource {PLUGIN}\n"
        if shell == "zsh"
        else f"PS1='here % '\nsource {BASH_PLUGIN}\n"
    )
    asks = "unalias gsh\ngsh() { sleep 1000; }\n"
    (home.path / f".{shell}rc").write_text(f"HISTCONTROL=ignorespace\n{rc}{asks}")
    argv = [zsh(), "-i"] if shell == "zsh" else ["bash", "-i"]
    environ = {name: os.environ[name] for name in NAMES if name in os.environ}
    async with private_server() as server:
        pane = (await server.spawn("gsh-shell", argv, cwd=home.path, env=environ, width=80, height=24)).pane

        async def rows() -> list[str]:
            return [row.strip() for row in await server.capture(pane, styled=False) if row.strip()]

        async def prompted() -> bool:
            return (await rows() or [""])[-1] == "here %"

        for line in typed:
            await eventually(prompted)
            await server.send_text(pane, line, enter=True)
            await eventually(lambda line=line: _left(rows, line))
        await eventually(prompted)
        await server.send_text(pane, ASKS, enter=True)
        await eventually(lambda: _left(rows, ""))
        store = await Store.open(paths.data_dir() / "gsh.db")
        terms = ShellLogOptions(paths.runtime_dir() / "gsh.sock", paths.data_dir(), home.path, 0, output_lines=20)
        log = ShellLog(Bus(), store, terms, str)
        await log.start()
        try:
            await eventually(lambda: _asked(log, store))
            found = {
                row.command: await store.outputs.get(row.output) for row in await store.shells.find_all() if row.output
            }
        finally:
            await log.stop()
            await store.close()
    assert found.keys() == wanted.keys()
    for command, text in wanted.items():
        assert found[command] == text or (text[:1] == "…" and found[command].endswith(text[1:]))


async def _left(rows: Callable[[], Awaitable[list[str]]], line: str) -> bool:
    """Whether the line was entered: something else stands below it, or nothing at all any more."""
    last = (await rows() or [""])[-1]
    return not last.endswith(line.strip()) if line else last.endswith(ASKS)


async def _asked(log: ShellLog, store: Store) -> bool:
    await log.sync_spool()
    return any(row.command == ASKS for row in await store.shells.find_all())
