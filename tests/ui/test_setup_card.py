"""The card of the first start: a key that is tried and kept, an Ollama, another program, and what can wait."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from gshtui.bus.events.agent_events import ModelChangeRequested, PromptBegun, PromptEditRequested, PromptSubmitted
from gshtui.commands.config_calls import SetSetting, ShownSettings
from gshtui.fleet.commands.spawn_command import SpawnAgent
from gshtui.providers import kept_key
from gshtui.providers.keyring_key import keyring_key
from gshtui.providers.port import ProviderError
from gshtui.providers.wire.provider_errors import ErrorOrigin, unreachable
from gshtui.settings import git_info, paths
from gshtui.settings.loader import load
from gshtui.ui.conversation.first_step import LARGE, first_step, from_home
from gshtui.ui.kit.widgets.dialogs import AskedChoice, InputScreen, Picker, PickerChoice
from gshtui.ui.prompt.prompt_routing import Addressee
from gshtui.ui.settings.settings_feature import SettingsFeature
from gshtui.ui.settings.setup_card import CardScreen, SetupCard
from tests.kit.fake_hub import Answer
from tests.kit.fake_terminal import FakeTerminalWindow, agent_row
from tests.kit.home import Home
from tests.kit.keyboard import Keyboard
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Fault, Say
from tests.kit.scenes import ANSWERS
from tests.kit.terminal_agents import wait_until
from tests.kit.window import Window, at_rest, settled

KEY = f"sk-ant-api03-{'of-a-test_' * 9}0123456789"
KEYRING = """\
import json, pathlib
FILE = pathlib.Path({file!r})
def _all(): return json.loads(FILE.read_text()) if FILE.exists() else {{}}
def get_password(service, name): return _all().get(service + " " + name)
def set_password(service, name, text): FILE.write_text(json.dumps({{**_all(), service + " " + name: text}}))
"""


@pytest.fixture(autouse=True)
def own_keyring() -> Iterator[None]:
    """What a test imports as the package `keyring` is of that test alone."""
    keyring_key.cache_clear()
    before = sys.modules.pop("keyring", None)
    yield
    keyring_key.cache_clear()
    sys.modules.pop("keyring", None)
    if before is not None:
        sys.modules["keyring"] = before


@asynccontextmanager
async def opened(*, first: bool = False) -> AsyncIterator[tuple[Window, Pilot[int]]]:
    """A window whose card was asked for."""
    answers = {"config show": Answer(ShownSettings(load(Path.cwd()), ""))}
    app = FakeTerminalWindow(answers={**answers, "spawn": Answer(agent_row())})
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.pause()
        await app.workers.wait_for_complete()
        if first:
            app.part(SettingsFeature).offer_setup()
        else:
            await pilot.press("alt+i")
        yield app, pilot


async def shows(pilot: Pilot[int], kind: type[object]) -> None:
    while not (isinstance(pilot.app.screen, kind) and pilot.app.screen.query(Input)):
        await pilot.pause()


async def carried_out(app: Window) -> None:
    setup = app.part(SettingsFeature).setup
    assert setup is not None
    await setup


def rows(app: Window) -> dict[str, str]:
    """The lines of the card, by the first word of each."""
    assert isinstance(app.screen, Picker)
    listed = app.screen.choices
    lines = [str(listed.get_option_at_index(at).prompt).strip() for at in range(listed.option_count)]
    return {line.split()[0]: line for line in lines}


def rows_said(app: Window) -> str:
    """What the list says, row by row."""
    listed = app.screen.query_one("#choices", OptionList)
    return "\n".join(str(option.prompt) for option in listed.options)


def told(app: Window) -> str:
    """What the dialog says."""
    return "\n".join(str(one.content) for one in app.screen.query(Static).results(Static) if one.display)


def models_asked(app: Window) -> list[str]:
    assert app.hub is not None
    return [event.provider for event in app.hub.said if isinstance(event, ModelChangeRequested)]


@pytest.mark.parametrize("has_keyring", [True, False])
async def test_a_pasted_key_is_tried_kept_and_used(
    has_keyring: bool, tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    (tmp_path / "keyring.py").write_text(KEYRING.format(file=str(kept)) if has_keyring else "raise ImportError")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")  # it is restored at the end, whatever the window sets
    async with loopback("anthropic", [[Fault.status(401)], [Say("yes")]]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        async with opened() as (app, pilot):
            await shows(pilot, CardScreen)
            before = app.hub
            assert app.screen.query_one("#filter").has_focus and rows(app)["Without"]
            assert "Gemini or OpenRouter" in rows(app)["Paste"]
            await pilot.press("enter")
            await shows(pilot, InputScreen)
            await pilot.press(*KEY, "enter")
            while "does not accept" not in (asked := told(app)):
                await pilot.pause()
            assert KEY not in asked, "refused, and asked for again"
            assert not kept.exists() and app.hub is before
            await pilot.press(*KEY, "enter")
            await carried_out(app)
            assert models_asked(app) == ["anthropic"] and app.hub is not before, "a hub that knows the key"
            assert [request.headers.get("x-api-key") for request in server.requests] == [KEY, KEY]
            if has_keyring:
                assert KEY in kept.read_text() and not os.environ["ANTHROPIC_API_KEY"]
                assert load(Path.cwd()).settings.providers["anthropic"].keyring == "gsh-tui"
            else:
                assert os.environ["ANTHROPIC_API_KEY"] == KEY, "until the window ends"
    files = [path for folder in (home.config, home.data, home.state) for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()], "it is in no file of ours"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            unreachable(ErrorOrigin("Anthropic"), "[Errno -2] Name or service not known"),
            "The connection to Anthropic failed: Name or service not known. Check the network connection and proxy. "
            "Enter to try again.",
        ),
        (ProviderError("server", "It is down.", retryable=True), "It is down. Enter to try again."),
    ],
)
async def test_a_key_that_could_not_be_tried_is_tried_again_by_enter(
    error: ProviderError, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    async def unheard(*given: object) -> str:
        tried.append(given[-1])
        raise error

    monkeypatch.setattr(kept_key, "try_key", unheard)
    async with opened() as (app, pilot):
        await shows(pilot, CardScreen)
        await pilot.press("enter")
        await shows(pilot, InputScreen)
        await pilot.press(*KEY, "enter")
        while words not in told(app):
            await pilot.pause()
        assert "of-a-test" not in app.export_screenshot()
        await pilot.press("enter")
        while len(tried) < 2:
            await pilot.pause()
        assert tried == [KEY, KEY]


@pytest.mark.parametrize("way", ["pasted", "line"])
async def test_what_comes_while_a_key_is_tried_belongs_to_the_card(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second paste is neither shown nor a prompt: neither between two lines nor while the first key is tried."""
    refused = asyncio.Event()

    async def tried(*_: object) -> str:
        await refused.wait()
        raise ProviderError("auth", "It does not accept the key.")

    monkeypatch.setattr(kept_key, "try_key", tried)
    async with opened() as (app, pilot):
        await shows(pilot, CardScreen)
        if way == "line":
            await pilot.press("enter")
            await shows(pilot, InputScreen)
        app.post_message(events.Paste(KEY))
        if way == "line":
            await pilot.press("enter")
            app.post_message(events.Paste("secret"))
        while "Trying the key" not in told(app):
            await pilot.pause()
        app.post_message(events.Paste(f"{KEY}-2"))
        await pilot.press("enter", *"abc")
        assert isinstance(app.screen, InputScreen) and app.screen.query_one(Input).value.endswith(f"{KEY}-2abc")
        assert "of-a-test" not in app.export_screenshot() and app.bench.input.text == ""
        refused.set()
        while "does not accept" not in told(app):
            await pilot.pause()
        assert app.screen.query_one(Input).value.endswith("-2abc"), "enter tries it next"
        await pilot.press("escape")
        await shows(pilot, CardScreen)
        assert app.bench.input.text == ""


async def test_a_trial_can_be_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = asyncio.Event()

    async def tried(*_: object) -> str:
        try:
            return await asyncio.Event().wait() and ""
        finally:
            ended.set()

    monkeypatch.setattr(kept_key, "try_key", tried)
    async with opened() as (app, pilot):
        await shows(pilot, CardScreen)
        await pilot.press("enter")
        await shows(pilot, InputScreen)
        await pilot.press(*KEY, "enter", "escape")
        await shows(pilot, CardScreen)
        assert ended.is_set() and models_asked(app) == []


@pytest.mark.parametrize("by_letter", [False, True])
async def test_a_key_pasted_into_the_card_is_no_prompt(by_letter: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback("anthropic", [[Fault.status(401)]]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        async with opened() as (app, pilot):
            await shows(pilot, CardScreen)
            if by_letter:
                await pilot.press(*KEY)
                assert isinstance(app.screen, CardScreen), "it may be longer"
                assert "of-a-test" not in app.export_screenshot(), "nobody reads it over a shoulder"
                await pilot.press("enter")
            else:
                app.screen.query_one("#filter", Input).value = f"ANTHROPIC_API_KEY={KEY}"
            await shows(pilot, InputScreen)
            while "does not accept" not in told(app):
                await pilot.pause()
            assert [request.headers.get("x-api-key") for request in server.requests] == [KEY]
            assert app.bench.input.text == "" and "of-a-test" not in app.export_screenshot()
            await pilot.press("escape")
            await shows(pilot, CardScreen)
            await pilot.press("escape")
            await carried_out(app)


@pytest.mark.parametrize(
    ("form", "program"), [("{}", False), ("{}", True), (" ANTHROPIC_API_KEY='{}'\n", False), ("/setup {}", False)]
)
async def test_a_key_sent_as_a_prompt_is_used_only_if_the_person_says_so(
    form: str, program: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    async def refused(*given: object) -> str:
        tried.append(given[-1])
        raise ProviderError("auth", "It does not accept the key.")

    monkeypatch.setattr(kept_key, "try_key", refused)
    async with opened() as (app, pilot):
        await shows(pilot, CardScreen)
        await pilot.press("escape")
        await carried_out(app)
        app.bench.input.address(Addressee("main", program=program))
        for answer in ("escape", "enter"):
            app.bench.input.insert_pasted(form.format(KEY))
            await pilot.press("enter")
            await shows(pilot, InputScreen)
            assert "This looks like a key for Anthropic. Connect with it?" in told(app)
            assert "of-a-test" not in app.export_screenshot() and not tried
            await pilot.press("enter")
            assert isinstance(app.screen, InputScreen) and not tried, "nobody can have read it"
            Keyboard(app).post(answer)
            await settled(pilot)
        while "does not accept" not in told(app):
            await pilot.pause()
        assert tried == [KEY] and app.hub is not None
        assert KEY not in f"{app.hub.said} {app.hub.ran}"
        assert app.bench.input.text == "" and app.bench.input.past.entries == []
        await pilot.press("escape")
        await carried_out(app)
        assert "The key was not used. It is kept nowhere." in [one.message for one in app._notifications]
        app.bench.input.address(Addressee("main"))
        app.bench.input.insert_pasted("sk-learn-pipeline-refactoring-notes-for-everyone-who-reads-them")
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.hub is not None and app.hub.intents(PromptSubmitted))


@pytest.mark.parametrize("form", ["deploy with {}, please", "Authorization: Bearer {}", "! echo {}", "/spawn {} x"])
@pytest.mark.parametrize("folded", [False, True])
async def test_a_key_within_a_text_is_sent_only_if_the_person_says_so(form: str, folded: bool) -> None:
    text = form.format(KEY) + "\nand more" * 40 * folded
    async with opened() as (app, pilot):
        await shows(pilot, CardScreen)
        await pilot.press("escape")
        await carried_out(app)
        area, hub = app.bench.input, app.hub
        assert hub is not None
        area.commands = {"spawn": frozenset()}
        for answer, goes in (("escape", ""), ("enter", "[redacted]"), ("down", KEY)):
            if not area.text:
                area.insert_pasted(text)
            before = [*hub.said, *hub.ran]
            await pilot.press("enter", "enter")
            await settled(pilot)
            assert isinstance(app.screen, AskedChoice), "nobody can have read it"
            assert "of-a-test" not in app.export_screenshot()
            for key in (answer, "enter") if answer == "down" else (answer,):
                Keyboard(app).post(key)
            await settled(pilot)
            sent = [str(one) for one in (*hub.said, *hub.ran) if one not in before and not isinstance(one, PromptBegun)]
            assert area.value == ("" if goes else text)
            assert [(KEY in one, "[redacted]" in one) for one in sent] == [(goes == KEY, goes != KEY)] * bool(goes)


async def test_an_edit_of_a_waiting_prompt_asks_about_a_key_too() -> None:
    async with at_rest(Window()) as pilot:
        app = cast(Window, pilot.app)
        app.bench.input.begin_edit("p1", f"use {KEY}")
        await pilot.press("enter")
        await settled(pilot)
        assert app.hub is not None and not app.hub.intents(PromptEditRequested)
        Keyboard(app).post("enter")
        await settled(pilot)
        assert [getattr(edit, "text", "") for edit in app.hub.intents(PromptEditRequested)] == ["use [redacted]"]


@pytest.mark.parametrize("opens", ["f2", "f8", "ctrl+p", "alt+g"])
async def test_a_key_pasted_into_a_search_is_hidden_and_connects_a_model_where_one_is_chosen(
    opens: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    async def refused(*given: object) -> str:
        tried.append(given[-1])
        raise ProviderError("auth", "It does not accept the key.")

    monkeypatch.setattr(kept_key, "try_key", refused)
    app = FakeTerminalWindow(answers={**ANSWERS, "config show": Answer(ShownSettings(load(Path.cwd()), ""))})
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.press(opens)
        await wait_until(pilot, lambda: bool(app.screen.query("#filter")))
        app.post_message(events.Paste(KEY))
        await wait_until(pilot, lambda: "This looks like an API key." in rows_said(app))
        assert "of-a-test" not in app.export_screenshot()
        await pilot.press("enter")
        if opens == "f2":
            while "does not accept" not in told(app):
                await pilot.pause()
            assert "of-a-test" not in app.export_screenshot()
        assert tried == [KEY] * (opens == "f2")


async def test_words_leave_the_card_and_programs_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "codex").write_text("#!/bin/sh\n")
    (tmp_path / "codex").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    async with opened(first=True) as (app, pilot):
        await shows(pilot, CardScreen)
        await pilot.press(*"theme of mine")  # "theme" could be a line, what follows is none
        await carried_out(app)
        assert app.screen is app.bench and app.bench.input.text == "theme of mine"
        await pilot.press("ctrl+c", "alt+i")
        await shows(pilot, CardScreen)
        await pilot.press(*"sk-learn or sk-0123456789abcdefghijklm")
        await carried_out(app)
        assert app.screen is app.bench and app.bench.input.text == "sk-learn or sk-0123456789abcdefghijklm"
        await pilot.press("ctrl+c", "alt+i")
        await shows(pilot, CardScreen)
        app.post_message(events.Paste("sk-learn-pipeline-refactoring-notes"))
        await wait_until(pilot, lambda: "Press enter to use this key." in rows_said(app))
        assert isinstance(app.screen, CardScreen), "it may be none"
        await pilot.press(*" of mine")
        await carried_out(app)
        assert app.bench.input.text == "sk-learn-pipeline-refactoring-notes of mine"
        await pilot.press("ctrl+c", "alt+i")
        await shows(pilot, CardScreen)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        dialog = app.screen.query_one(".dialog").region
        assert dialog.bottom <= app.bench.input.region.y, "the input is in sight"
        assert "installed" in rows(app)["Codex"] and "Claude" not in rows(app)
        await pilot.press("down", "enter")
        await carried_out(app)
        while app.deck.front != "terminal-0001":
            await pilot.pause()
        assert app.hub is not None, "its tab is in front"
        assert [call.profile for call in app.hub.ran if isinstance(call, SpawnAgent)] == ["codex"]


@pytest.mark.parametrize(
    ("words", "left", "dots"),
    [
        ("https://oauth2:ghp_0123456789abcdefghijklmnopqrstuvwxyz@example.com/a/b.git", "", False),
        ("theme", "theme", False),
        ("sk-learn-pipeline-refactoring-notes", "sk-learn-pipeline-refactoring-notes", True),
        ("sk-ant-api03-the-first-half-of-one", "", True),
    ],
)
async def test_what_is_no_key_is_seen_and_comes_back_to_the_input(words: str, left: str, dots: bool) -> None:
    async with opened() as (app, pilot):
        await shows(pilot, CardScreen)
        app.post_message(events.Paste(words))
        await wait_until(pilot, lambda: app.bench.input.text or app.screen.query_one(Input).value)
        if isinstance(app.screen, CardScreen):
            assert app.screen.query_one(Input).password == dots
            await pilot.press("escape")
        else:
            left = words
        await carried_out(app)
        assert app.screen is app.bench and app.bench.input.text == left


@pytest.mark.parametrize("key", ["enter", "escape", "x"])
async def test_a_key_with_nothing_to_do_does_not_cost_the_card(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = Window(answers={"config show": Answer(ShownSettings(load(Path.cwd()), ""))})
    app.is_first = True
    pressed, choices = asyncio.Event(), SetupCard._choices  # pyright: ignore[reportPrivateUsage]

    async def late(card: SetupCard) -> tuple[bool, list[PickerChoice]]:
        await pressed.wait()
        return await choices(card)

    monkeypatch.setattr(SetupCard, "_choices", late)
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.press(key)
        pressed.set()
        if key != "x":
            await shows(pilot, CardScreen)
            assert not paths.set_up_file().exists(), "a window that is closed now shows it again at its next start"
            await app.screen.run_action("dismiss")
            assert app.screen is not app.bench, "that key was pressed before it was there"
            await pilot.press("escape")
            await carried_out(app)
            assert app.screen is app.bench and paths.set_up_file().exists()
        else:
            await app.workers.wait_for_complete()
            await pilot.pause()
            await carried_out(app)
            assert app.screen is app.bench and app.bench.input.text == "x"
            assert not paths.set_up_file().exists(), "nobody has seen it"


@pytest.mark.parametrize(("height", "shown"), [(40, 6), (24, 4)])
async def test_the_card_comes_before_the_hub_and_offers_programs_by_use(
    height: int, shown: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("aider", "amp", "claude", "cline", "codex", "gemini", "goose", "opencode"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("GSH_UI__FIRST_QUESTIONS", "true")
    app = Window()
    app.is_first = True
    seen, begin = asyncio.Event(), app.bridge.start

    async def late() -> None:
        await seen.wait()
        await begin()

    monkeypatch.setattr(app.bridge, "start", late)
    async with app.run_test(size=(100, height)) as pilot:
        await shows(pilot, CardScreen)
        by_use = ["Claude", "Codex", "OpenCode", "Gemini", "Aider", "Amp"]
        assert list(rows(app))[1 : shown + 2] == [*by_use[:shown], "…"]
        assert rows(app)["…"].startswith(f"… {8 - shown} more")
        await pilot.press(*["down"] * (shown + 1), "enter")
        while "…" in rows(app):
            await pilot.pause()
        assert list(rows(app))[1:9] == [*by_use, "Goose", "Cline"]
        assert app.bridge.settings is None
        seen.set()


async def test_what_can_wait_is_done_and_the_card_stays(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/zsh")
    monkeypatch.setenv("OPENAI_API_KEY", "a")
    startup = home.path / ".zshrc"
    startup.write_text("alias ll='ls -l'\n", encoding="utf-8")
    async with opened(first=True) as (app, pilot):
        await carried_out(app)
        assert app.screen is app.bench, "a model is connected: nothing is asked"
        await pilot.press("alt+i")
        await shows(pilot, CardScreen)
        assert "Without" not in rows(app) and ".zshrc" in rows(app)["Shell"]
        card = app.screen
        await pilot.press("up", "enter")
        while app.screen is card or not (isinstance(app.screen, CardScreen) and app.screen.query(Input)):
            await pilot.pause()
        assert "Shell" not in rows(app) and startup.read_text("utf-8").startswith("alias ll='ls -l'\n[[ ! -r ")
        await pilot.press("up", "enter")
        while isinstance(app.screen, CardScreen) or not isinstance(app.screen, Picker):
            await pilot.pause()
        await pilot.press("down", "enter")
        await shows(pilot, CardScreen)
        await pilot.press("escape")
        await carried_out(app)
        assert app.hub is not None
        assert [call.key for call in app.hub.ran if isinstance(call, SetSetting)] == ["ui.theme"]


def test_the_next_step_of_each_folder(tmp_path: Path) -> None:
    home, empty, large, plain = (tmp_path / name for name in ("home", "empty", "large", "plain"))
    for folder in (home, empty, large / ".git" / "refs", plain / "src"):
        folder.mkdir(parents=True)
    (large / "code.c").write_text("")
    (large / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    index = large / ".git" / "index"
    environ = {"HOME": str(home)}
    assert [from_home(one, environ) for one in (home, home / "a" / "b", plain)] == ["~", "~/a/b", str(plain)]
    assert from_home(home.with_name("homes"), environ) == str(home.with_name("homes"))
    assert "cd PROJECT" in first_step(home, environ)
    assert "empty" in first_step(empty, environ)
    assert first_step(plain, environ) == ""
    assert "SSH" in first_step(plain, {**environ, "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
    for tracked, is_large in ((LARGE - 1, False), (LARGE, True)):
        index.write_bytes(b"DIRC" + (2).to_bytes(4, "big") + tracked.to_bytes(4, "big"))
        assert git_info.tracked_files(large) == tracked
        assert bool(first_step(large, environ)) == is_large
    index.write_bytes(b"no index")
    assert git_info.tracked_files(large) == 0
