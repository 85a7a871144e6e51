"""The list of completions: it helps, and never has the focus."""

import asyncio
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from gshtui.ui.prompt import completion_sources, prompt_completion
from gshtui.ui.prompt.completion_sources import CommandSource, FileIndex, FileSource, ResourceSource
from gshtui.ui.prompt.prompt_completion import POPUP_ROWS, Completer, CompletionItem
from tests.kit.prompt_host import PromptHost


@dataclass
class Said:
    value: str
    start: int
    kind: str
    detail: str = ""


async def complete(line: str, cursor: int) -> list[Said]:
    """Two commands, one with a parameter."""
    if " " in line:
        start = line.rindex(" ") + 1
        return [Said("name=", start, "parameter", "the model")] if "name=".startswith(line[start:]) else []
    names = [("model", "Choose another model"), ("more", "Show [bold]more[/bold]"), ("help", "What there is")]
    return [Said(name, 1, "command", detail) for name, detail in names if name.startswith(line[1:])]


def host(**area: Any) -> PromptHost:
    return PromptHost(keep_drafts=False, completions=[CommandSource(complete)], **area)


async def shown(app: PromptHost, pilot: Pilot[None]) -> list[str]:
    await app.workers.wait_for_complete()
    await pilot.pause()
    return [candidate.shown for candidate in app.area.popup.candidates]


async def test_commands_and_their_parameters() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press("slash")
        assert await shown(app, pilot) == ["/model", "/help", "/more"]
        assert app.area.popup.display and app.focused is app.area.input
        await pilot.press("m", "down", "tab")
        await pilot.pause()
        assert app.area.input.text == "/more "
        await pilot.press("ctrl+u", *"/mod", "enter")
        await pilot.pause()
        assert app.area.input.text == "/model "
        assert app.lines == []
        await pilot.press("n")
        assert await shown(app, pilot) == ["name="]
        await pilot.press("tab", *"opus", "enter")
        await pilot.pause()
        assert app.lines == ["model name=opus"]


async def test_enter_runs_the_marked_command_unless_it_needs_more() -> None:
    source = CommandSource(complete, runs=lambda name: name != "help", usage=lambda name: f"/{name} <command>")
    app = PromptHost(keep_drafts=False, completions=[source])
    async with app.run_test() as pilot:
        await pilot.press(*"/mod")
        assert await shown(app, pilot) == ["/model"]
        await pilot.press("enter")
        await pilot.pause()
        assert app.lines == ["model"] and app.area.input.text == ""
        await pilot.press(*"/he")
        assert await shown(app, pilot) == ["/help"]
        await pilot.press("enter")
        await pilot.pause()
        assert app.lines == ["model"] and app.area.input.text == "/help "
        assert popup_text(app).strip() == "/help <command>"
        await pilot.press("escape")
        assert not app.area.popup.display and app.area.input.text == "/help "
        await pilot.press("ctrl+u", "/")
        assert await shown(app, pilot) == ["/model", "/help", "/more"]
        assert app.area.input.key_use == "running" and "/help <command>" not in popup_text(app)
        await pilot.press("down")
        assert app.area.input.key_use == "choosing"
        await pilot.press("up", "enter")
        await pilot.pause()
        assert app.lines == ["model", "model"] and app.area.input.text == ""


@pytest.mark.parametrize("typed", ["/", "/m", "/mod", "/model"])
async def test_enter_behind_letters_whose_list_is_to_come_runs_what_was_meant(typed: str) -> None:
    asked = asyncio.Event()

    async def slowly(line: str, cursor: int) -> list[Said]:
        await asked.wait()
        return await complete(line, cursor)

    app = PromptHost(keep_drafts=False, completions=[CommandSource(slowly, runs=lambda _: True)])
    async with app.run_test() as pilot:
        for letter in typed:
            app.area.input.insert_typed(letter)
        entered = asyncio.create_task(app.area.input.action_submit())
        await pilot.pause()
        assert app.lines == []
        asked.set()
        await entered
        await pilot.pause()
        assert app.lines == ["model"] and app.area.input.text == ""


async def test_enter_sends_a_whole_name() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"/help")
        assert await shown(app, pilot) == ["/help"]
        await pilot.press("enter")
        await pilot.pause()
        assert app.lines == ["help"]
        assert not app.area.popup.display
        # What is offered for a word that nobody has begun is not taken either.
        await pilot.press(*"/model ")
        assert await shown(app, pilot) == ["name="]
        await pilot.press("enter")
        await pilot.pause()
        assert app.lines == ["help", "model"]


async def test_the_list_is_above_the_input_and_covers_no_layout() -> None:
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        before = app.area.input.region
        await pilot.press("slash")
        await shown(app, pilot)
        await pilot.pause()
        assert app.area.input.region == before
        assert app.area.popup.region.bottom == before.y
        assert app.area.popup.region.height == 5  # with two headings


@pytest.mark.parametrize("width", [61, 80])
async def test_the_place_in_a_long_list_is_below_the_rows_that_name_keys(width: int) -> None:
    app = host()
    async with app.run_test(size=(width, 24)) as pilot:
        words = "x" * (width - 15)  # the row is full
        items = [CompletionItem(f"item{n:02}", 0, detail=words, key="app.help" if n % 2 else "") for n in range(20)]
        app.area.popup.show(items)
        await pilot.pause()
        *rows, last = popup_text(app).split("\n")
        assert len(rows) == POPUP_ROWS - 1 and re.fullmatch(r" +1 of 20 ", last)
        assert not [row for row in rows if " of " in row]
        app.area.popup.move(19)
        await pilot.pause()
        *rows, last = popup_text(app).split("\n")
        assert rows[-1].startswith(" ▸ item19") and re.fullmatch(r" +20 of 20 ", last)
        app.area.popup.show(items[:POPUP_ROWS])
        assert "item07" in popup_text(app) and " of " not in popup_text(app), "all are listed"


async def test_escape_closes_the_list_then_goes_on() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press("slash")
        await shown(app, pilot)
        await pilot.press("escape")
        assert not app.area.popup.is_open
        assert app.area.input.text == "/"


async def test_a_candidate_is_clicked() -> None:
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash")
        await shown(app, pilot)
        await pilot.click("#completions", offset=(4, 0))
        await pilot.pause()
        assert app.area.input.text == "/"  # a heading is no choice
        await pilot.click("#completions", offset=(4, 2))
        await pilot.pause()
        assert app.area.input.text == "/help "
        assert app.focused is app.area.input


async def test_typing_on_narrows_and_leaving_the_word_closes() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"/mo")
        assert await shown(app, pilot) == ["/model", "/more"]
        await pilot.press("d")
        assert await shown(app, pilot) == ["/model"]
        await pilot.press("x")
        assert await shown(app, pilot) == []
        assert not app.area.popup.display
        await pilot.press("backspace")
        assert await shown(app, pilot) == ["/model"]
        await pilot.press("home")
        await pilot.pause()
        assert not app.area.popup.is_open


async def test_files(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("src/main.py", "src/my notes.md", "readme.md"):
        (tmp_path / name).write_text("")
    app = host(project=tmp_path)
    app.area.input.add_source(FileSource(FileIndex(tmp_path)))
    async with app.run_test() as pilot:
        await pilot.press(*"look @main")
        await until(app, pilot, "src/main.py")
        await pilot.press("tab", *"and @notes")
        await until(app, pilot, "src/my notes.md")
        await pilot.press("tab", *"@src")
        await until(app, pilot, "src/")
        await pilot.press("tab")
        await pilot.pause()
        assert app.area.input.text == 'look @src/main.py and @"src/my notes.md" @src/'


async def test_files_appear_when_they_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, entered = threading.Event(), threading.Event()

    def walk(root: Path, stop: threading.Event) -> Iterator[str]:
        yield "other.py"
        entered.set()
        gate.wait()
        yield "zebra.py"

    monkeypatch.setattr(completion_sources, "walk_project", walk)
    monkeypatch.setattr(completion_sources, "FIRST_ANSWER", 0.0)
    monkeypatch.setattr(completion_sources, "_LOOKS", 0.01)
    app = host(project=tmp_path)
    app.area.input.add_source(FileSource(FileIndex(tmp_path), app.area.input.tell_completion_news))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"@zebra")
        while "Reading this folder: 1 files" not in (popup_text(app) if app.area.popup.display else ""):
            await pilot.pause()
        assert not app.area.popup.is_open, "it is no candidate"
        gate.set()
        await until(app, pilot, "zebra.py")
        assert "Reading" not in popup_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert not app.area.popup.display


async def test_a_slow_source_comes_later_than_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, offered = asyncio.Event(), asyncio.Queue[list[str]]()

    class Slow:
        def start(self, before: str, row: int) -> int | None:
            return 0

        async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
            await gate.wait()
            return (CompletionItem("slow", 0),)

    class Quick(Slow):
        async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
            return (CompletionItem("quick", 0),)

    monkeypatch.setattr(prompt_completion, "SLOW", 0.01)
    completer = Completer(lambda items: offered.put_nowait([item.insert for item in items]), lambda _: None)
    completer.sources += [Slow(), Quick()]
    assert completer.update("x", 0) and completer.pending
    assert await offered.get() == ["quick"] and not completer.pending
    gate.set()
    assert await offered.get() == ["slow", "quick"]


def popup_text(app: PromptHost) -> str:
    """The rows of the list."""
    popup = app.area.popup
    return "\n".join(popup.render_line(y).text for y in range(popup.size.height))


async def until(app: PromptHost, pilot: Pilot[None], label: str) -> None:
    """Wait for a candidate: the index is built in a thread."""
    while label not in [candidate.shown for candidate in app.area.popup.candidates]:
        await pilot.pause()


async def test_a_tiny_window() -> None:
    app = host()
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.press("slash")
        await shown(app, pilot)
        await pilot.pause()
        assert app.area.popup.region.y >= 0
        assert app.area.popup.region.bottom <= app.area.input.region.y
        assert app.area.popup.region.right <= 20


async def test_enter_and_tab_never_take_what_belongs_to_older_words() -> None:
    gate = asyncio.Event()

    async def slow(line: str, cursor: int) -> list[Said]:
        if line != "/m":
            await gate.wait()
        return await complete(line, cursor)

    app = PromptHost(keep_drafts=False, completions=[CommandSource(slow)])
    async with app.run_test() as pilot:
        await pilot.press(*"/m")
        assert await shown(app, pilot) == ["/model", "/more"]
        await pilot.press(*"ore", "enter")
        await pilot.pause()
        assert app.lines == ["more"]
        await pilot.press(*"/m")
        await shown(app, pilot)
        await pilot.press(*"or", "tab")
        gate.set()
        await shown(app, pilot)
        assert app.area.input.text == "/more "


@dataclass
class Resource:
    server: str
    uri: str
    about: str = ""


async def test_resources_of_servers_are_completed_and_asked_for_once() -> None:
    asked: list[str] = []

    async def listed(server: str) -> list[Resource]:
        asked.append(server)
        if not server:
            return [Resource("kit", "", "its resources")]
        return [Resource("kit", "note://one", "A note"), Resource("kit", "file:///", "… any file")]

    app = PromptHost(keep_drafts=False, completions=[ResourceSource(listed)])
    async with app.run_test() as pilot:
        await pilot.press(*"see @k")
        assert await shown(app, pilot) == ["kit:"]
        await pilot.press("tab")
        assert app.area.input.text == "see @kit:"  # no blank: an address follows
        await pilot.press("n")
        assert await shown(app, pilot) == ["kit:note://one"]
        await pilot.press("o", "tab")
        assert app.area.input.text == "see @kit:note://one "
        await pilot.press(*"and @kit:f")
        assert await shown(app, pilot) == ["kit:file:///"]
        await pilot.press("tab")
        assert app.area.input.text == "see @kit:note://one and @kit:file:///"
    assert asked == ["", "kit"]
