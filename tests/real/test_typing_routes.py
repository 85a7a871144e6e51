"""Every door × every state of a terminal: text arrives in an idle input, and nowhere else."""

import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.pane.pane_view import Trouble
from gshtui.tmux.server import TmuxServer
from tests.kit.storms import FULL, some
from tests.kit.tmux import attached_person, eventually, screen_text, tmux, wait_for_text
from tests.kit.typing_routes import MAIL, TypingRoutes, typing_routes

__all__ = ["tmux"]
pytestmark = pytest.mark.tmux
BASH = ("bash", "--norc", "-i")
ZSH = ("zsh", "-f", "-i")
PYTHON = (sys.executable, "-q", "-i", "-E")
Brought = tuple[AgentRow, Trouble, Callable[[], Awaitable[None]]]
State = Callable[[TypingRoutes], contextlib.AbstractAsyncContextManager[Brought]]
"""Gives an agent in this state, what stands in the way, and how that is taken away."""


async def prompt(d: TypingRoutes, row: AgentRow) -> None:
    await eventually(
        lambda: screen_text(d.server, row.pane), until=lambda seen: seen.rstrip().endswith(("$", "#", "%", ">"))
    )


async def front(d: TypingRoutes, row: AgentRow, *programs: str) -> None:
    await eventually(lambda: d.server.pane(row.pane), until=lambda info: info.command in programs)


async def typed(d: TypingRoutes, row: AgentRow, text: str) -> None:
    """Type as a person does."""
    await d.server.type_bytes(row.pane, text.encode())


@contextlib.asynccontextmanager
async def question(d: TypingRoutes) -> AsyncGenerator[Brought]:
    row = await d.add_quirky_program()
    await typed(d, row, "ask May I\r")
    await wait_for_text(d.server, row.pane, "→ 1. Yes")

    async def clear() -> None:
        await typed(d, row, "2")

    yield row, "waiting", clear


@contextlib.asynccontextmanager
async def dialog(d: TypingRoutes) -> AsyncGenerator[Brought]:
    row = await d.add_quirky_program()
    await typed(d, row, "menu\r")
    await wait_for_text(d.server, row.pane, "settings")

    async def clear() -> None:
        await typed(d, row, "\x1b")

    yield row, "dialog", clear


@contextlib.asynccontextmanager
async def draft_of_a_program(d: TypingRoutes) -> AsyncGenerator[Brought]:
    row = await d.add_quirky_program()
    await typed(d, row, "half a thought")
    await wait_for_text(d.server, row.pane, "half a thought")

    async def clear() -> None:
        assert "❯ half a thought" in await screen_text(d.server, row.pane)
        await typed(d, row, "\x15")

    yield row, "draft", clear


def in_shell(
    argv: tuple[str, ...],
    profile: str,
    line: str,
    shown: str,
    programs: tuple[str, ...],
    trouble: Trouble,
    keys: str,
) -> State:
    """A shell or an interpreter that was brought into the state by a line, and is freed by keys."""

    @contextlib.asynccontextmanager
    async def state(d: TypingRoutes) -> AsyncGenerator[Brought]:
        (d.folder / "file").write_text("the text of a file\n" * 100)
        row = await d.add_agent(*argv, profile=profile)
        await prompt(d, row)
        await typed(d, row, line)
        await wait_for_text(d.server, row.pane, shown)
        await front(d, row, *programs)

        async def clear() -> None:
            await typed(d, row, keys)

        yield row, trouble, clear

    return state


@contextlib.asynccontextmanager
async def copy_mode(d: TypingRoutes) -> AsyncGenerator[Brought]:
    row = await d.add_agent(*BASH, profile="shell")
    await prompt(d, row)
    async with attached_person(d.server, row.tmux_session) as terminal:
        os.write(terminal, b"\x02[")
        await eventually(lambda: d.server.pane(row.pane), until=lambda info: info.in_mode)

        async def clear() -> None:
            os.write(terminal, b"q")
            await eventually(lambda: d.server.pane(row.pane), until=lambda info: not info.in_mode)

        yield row, "scrolled", clear


SLEEP = "import signal; print('be'+'gun'); signal.pause()\r"
STATES: dict[str, State] = {
    "question": question,
    "dialog": dialog,
    "draft of a program": draft_of_a_program,
    "editor": in_shell(BASH, "shell", "vi -u NONE file\r", "the text", ("vi", "vim"), "program", "\x1b:q!\r"),
    "pager": in_shell(BASH, "shell", "less file\r", "the text", ("less",), "program", "q"),
    "editor of another": in_shell(
        BASH, "shell", "sh -c 'vi -u NONE file; true'\r", "the text", ("sh", "vi", "vim"), "program", "\x1b:q!\r"
    ),
    "command": in_shell(BASH, "shell", "sleep 600\r", "sleep", ("sleep",), "busy", "\x03"),
    "command that reads": in_shell(BASH, "shell", "cat\r", "cat", ("cat",), "busy", "\x03"),
    "own command of the shell": in_shell(BASH, "shell", "read x\r", "read x", ("bash",), "busy", "\x03"),
    "secret": in_shell(BASH, "shell", "read -sp 'Password: ' x\r", "Password:", ("bash",), "waiting", "\x03"),
    "y or n": in_shell(BASH, "shell", "read -p 'Go on? [y/N] ' x\r", "Go on?", ("bash",), "waiting", "\x03"),
    "draft in bash": in_shell(BASH, "shell", "echo half", "echo half", ("bash",), "draft", "\x15"),
    "draft in zsh": in_shell(ZSH, "shell", "echo half", "echo half", ("zsh",), "draft", "\x15"),
    "open quote": in_shell(ZSH, "shell", 'echo "half\r', "dquote>", ("zsh",), "draft", "\x03"),
    "command in zsh": in_shell(ZSH, "shell", "sleep 600\r", "sleep", ("sleep",), "busy", "\x03"),
    "work of python": in_shell(PYTHON, "python", SLEEP, "begun", ("python3", "python"), "busy", "\x03"),
    "draft in python": in_shell(PYTHON, "python", "half", "half", ("python3", "python"), "draft", "\x03"),
    "open block": in_shell(PYTHON, "python", "if 1:\r", "...", ("python3", "python"), "draft", "\x03"),
    "copy mode": copy_mode,
}


DOORS = [
    (name, MAIL if FULL else (MAIL[number % len(MAIL)], MAIL[(number + 3) % len(MAIL)]))
    for number, name in enumerate(STATES)
]
"""Each state with all doors of the mail, or with two of them in turn."""


def text_for(row: AgentRow, door: str) -> str:
    """A text that shows when it has arrived, and is fit for what the agent is."""
    word = "via-" + door.replace(" ", "-")
    return f"print('{word}')" if row.profile == "python" else f"echo {word}" if row.profile == "shell" else word


@pytest.mark.parametrize(("name", "doors"), some(DOORS, 2), ids=some(list(STATES), 2))
async def test_text_arrives_in_an_idle_input_and_nowhere_else(
    tmp_path: Path, tmux: TmuxServer, name: str, doors: tuple[str, ...]
) -> None:
    async with typing_routes(tmp_path, tmux) as d, STATES[name](d) as brought, d.watch_submissions() as submitted:
        row, trouble, clear = brought
        before = await screen_text(tmux, row.pane)
        await d.tool("tmux", action="read", pane=row.id)
        said = await d.refusal("tmux", action="send", pane=row.id, text=text_for(row, "tmux"))
        entered = await d.refusal("tmux", action="send", pane=row.id, text="")
        assert said and entered
        letters = {door: await d.send_mail(door, row, text_for(row, door)) for door in doors}

        async def stands() -> str:
            await screen_text(tmux, row.pane)
            found = d.mail.service.delivery.trouble(row.id)
            return found.kind if found is not None else ""

        await eventually(stands, until=lambda kind: kind == trouble)
        for letter in letters.values():
            assert (await d.mail.store.mail.find(letter.id)).state == "queued"
        assert await screen_text(tmux, row.pane) == before, "nothing was typed"
        assert [text for text in d.received_texts() if text != "menu"] == [], "nothing was answered"
        await clear()
        await submitted(letter.id for letter in letters.values())
        for door in doors:
            if row.profile == "quirky":
                assert any(text_for(row, door) in text for text in d.received_texts())
            else:
                await wait_for_text(tmux, row.pane, f"\nvia-{door.replace(' ', '-')}\n")


@pytest.mark.parametrize("argv", [BASH, ZSH, PYTHON], ids=["bash", "zsh", "python"])
async def test_who_has_ended_gets_nothing_by_any_door(tmp_path: Path, tmux: TmuxServer, argv: tuple[str, ...]) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_agent(*argv, profile="python" if argv is PYTHON else "shell")
        await prompt(d, row)
        await typed(d, row, "\x04")
        await eventually(lambda: tmux.pane(row.pane), until=lambda info: info.dead)
        assert "has ended" in await d.refusal("tmux", action="send", pane=row.id, text="anyone?")
        for door in MAIL:
            letter = await d.send_mail(door, row, "anyone?")
            assert "has ended" in (await d.mail.wait_for_state(letter.id, "dropped")).why


SHARED: dict[str, tuple[str, str, tuple[str, ...], str]] = {
    "editor": ("vi -u NONE file\r", "the text", ("vi", "vim"), "An editor"),
    "pager": ("less file\r", "the text", ("less",), "A pager"),
    "command": ("sleep 600\r", "sleep", ("sleep",), "sleep"),
    "question": ("read -p 'Go on? [y/N] ' x\r", "Go on?", ("bash",), "waits for an answer"),
    "draft": ("echo half", "echo half", ("bash",), "without submitting it"),
}


@pytest.mark.parametrize("name", SHARED)
async def test_the_shared_shell_is_guarded_the_same_way(tmp_path: Path, tmux: TmuxServer, name: str) -> None:
    line, shown, programs, why = SHARED[name]
    async with typing_routes(tmp_path, tmux) as d:
        (tmp_path / "file").write_text("the text of a file\n" * 100)
        pane = (await d.reach.shared.open(tmp_path)).pane
        await tmux.type_bytes(pane, line.encode())
        await wait_for_text(tmux, pane, shown)
        await eventually(lambda: tmux.pane(pane), until=lambda info: info.command in programs)
        before = await screen_text(tmux, pane)
        assert why in await d.refusal("tmux", action="send", text="touch never")
        assert await d.refusal("terminal", command="touch never")
        assert await screen_text(tmux, pane) == before
        assert not (tmp_path / "never").exists()


async def test_an_interactive_program_in_the_shared_shell_is_typed_to(tmp_path: Path, tmux: TmuxServer) -> None:
    """What is in front there is read by its own profile, and by what the kernel says it waits for."""
    async with typing_routes(tmp_path, tmux) as d:
        await d.tool("tmux", action="send", text=f"{sys.executable} -q -i -E")
        await d.tool("tmux", action="wait_ready", pattern="^>>> $", timeout=30)
        await d.tool("tmux", action="send", text="for n in range(2):\n\tprint('n is', n)")
        await wait_for_text(tmux, (await d.reach.shared.open(tmp_path)).pane, "n is 1")
        await d.tool("tmux", action="send", text="exit()")
        await d.tool("tmux", action="wait_ready", pattern=r"[$#] $", timeout=30)
        await d.tool("tmux", action="send", text="sh -c 'printf \"Your name: \"; read n; echo hello-$n'")
        await d.tool("tmux", action="wait_ready", pattern="name: ?$", timeout=30)
        await d.tool("tmux", action="send", text="ann")
        await wait_for_text(tmux, (await d.reach.shared.open(tmp_path)).pane, "\nhello-ann")
