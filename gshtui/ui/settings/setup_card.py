"""The card that connects a first model: paste a key, take an Ollama, or begin with another program; the rest can wait.

Shown by itself where nothing is connected, and by `/setup`. `enter` alone changes something; `escape` leaves it, and so
do words that no line has: they are a prompt, and go on in the input line. A pasted key is taken for what it is;
one that comes letter by letter, and what only may be one, once `enter` ends it.
"""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events
from textual.screen import ModalScreen
from textual.widgets import Input

from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.system.tasks import cancel_and_wait
from gshtui.text import units
from gshtui.ui.kit.textual.typed_app import pressed_at
from gshtui.ui.kit.widget_messages import StartAgent
from gshtui.ui.kit.widgets.dialogs import InputScreen, Picker, PickerChoice, YesKeys

if TYPE_CHECKING:
    from gshtui.commands.declaration import Returns
    from gshtui.providers.kept_key import KeyPlace
    from gshtui.settings.model import Settings
    from gshtui.ui.settings.settings_host import SettingsHost

_KEY, _OLLAMA, _PROGRAM, _MORE, _NOTHING, _THEME, _SHELL = (
    "key",
    "ollama",
    "program ",
    "more",
    "nothing",
    "theme",
    "shell",
)
_HINT = "{list.choose} to select · {list.close} to skip"
_PROGRAMS, _HIGH = 4, 30
"""How many programs are offered at once, and the rows of a terminal from which on it is two more."""
_FIRST = ("claude", "codex", "opencode", "gemini", "copilot", "cursor", "aider", "amp", "qwen", "droid", "goose")
"""Programs by how many people use them."""


class CardScreen(Picker):
    """A list that leaves as soon as something else is typed.

    Args:
        typed: receives what was typed, in pieces.
        pasted: receives a key that was pasted here; the answer is then that of the line for keys.
    """

    OF_KEY = "Press enter to use this key."

    def __init__(
        self,
        title: str,
        choices: Sequence[PickerChoice],
        typed: Callable[[str], None],
        pasted: Callable[[str], None],
    ) -> None:
        super().__init__(title, choices, empty="", hint=_HINT)
        self._prompt = "Paste a key, or just type a prompt"
        self._typed_words = typed
        self._pasted_key = pasted
        self._given = 0
        """Characters that were handed on."""
        self._before = 0
        """Characters that were typed when this was filled before."""
        self._drawn = math.inf

    def on_mount(self) -> None:
        self.call_after_refresh(self._is_drawn)

    def _is_drawn(self) -> None:
        self._drawn = time.monotonic()

    def fill(self) -> None:
        from gshtui.settings.known_providers import KEY_BEGINNINGS, may_become_key

        key, grown, self._before = self.words.strip(), len(self.words) - self._before, len(self.words)
        begun = self.query_one("#filter", Input).password = may_become_key(key)
        if not self._given and grown > 1 and self.key:
            self._take(key)
            return
        super().fill()
        if not self._given and (begun or any(one.startswith(key) for one in KEY_BEGINNINGS)):
            if self.chosen is None:
                self.show([], self.OF_KEY)
        elif self._given or (self.words and self.chosen is None):
            leaves = not self._given
            self._typed_words(self.words[self._given :])
            self._given = len(self.words)
            if leaves:
                self.dismiss(None)

    def action_choose(self) -> None:
        if self.chosen is None and self.words and not self._given:
            self._take(self.words.strip())
        elif self.chosen == _KEY:
            self._take("")
        else:
            super().action_choose()

    async def action_dismiss(self, result: str | None = None) -> None:
        """Leave it. What is typed goes on in the input, unless it is a key."""
        from gshtui.text.secret_shapes import without_tokens

        if (pressed_at(self) or math.inf) < self._drawn:
            return  # who pressed this had not seen it
        if not self._given and without_tokens(self.words) == self.words:
            self._typed_words(self.words)
        await super().action_dismiss(result)

    def _take(self, key: str) -> None:
        self.dismiss(_KEY)
        self._pasted_key(key)  # the line for keys opens in this moment: nothing typed now reaches a prompt


class KeyLineScreen(InputScreen):
    """The line for a key. It stays open while one is tried: what is typed or pasted meanwhile is hidden in it.

    Args:
        key: whether to use this one is asked: enter counts once that could be read, or once another is written.
    """

    def __init__(self, title: str, key: str = "") -> None:
        super().__init__(title, text=key, hint="it is kept in your keyring", secret=True)
        self._asked = key
        self._keys = YesKeys()
        self.left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the person has closed it."""
        self._given: asyncio.Future[str] | None = None

    async def key(self) -> str:
        """The next key that is given; empty: it was closed."""
        self._given = asyncio.get_running_loop().create_future()
        await asyncio.wait((self._given, self.left), return_when=asyncio.FIRST_COMPLETED)
        return self._given.result() if self._given.done() else ""

    @property
    def _field(self) -> Input:
        return self.query_one("#words", Input)

    def on_mount(self) -> None:
        self.call_after_refresh(self._keys.show)

    def on_key(self, event: events.Key) -> None:
        asks = event.key == "enter" and self._asked and self._field.value == self._asked
        if asks and not self._keys.press("once", event.time):
            event.stop()
            event.prevent_default()

    def action_submit(self) -> None:
        self._asked = ""
        if self._given is not None and not self._given.done() and (key := self._field.value.strip()):
            self._field.value = ""
            self._given.set_result(key)

    def action_cancel(self) -> None:
        if not self.left.done():
            self.left.set_result(None)
        self.dismiss("")

    def keep(self, key: str) -> None:
        """Have this key tried again by enter, unless another one is being written."""
        self._field.value = self._field.value or key

    def close(self) -> None:
        if self.is_current:
            self.dismiss("")


class SetupCard:
    """Shows the card, and has what is chosen carried out.

    Args:
        change: carries out a change of a setting.
    """

    def __init__(self, host: SettingsHost, change: Callable[[Returns[Any]], Awaitable[None]]) -> None:
        self._host = host
        self._change = change
        self._pasted = ""
        """The key that was pasted into the card."""
        self._line: KeyLineScreen | None = None
        """The line for keys, once it is open."""
        self._settings: Settings | None = None
        """The settings, read before the hub has them."""
        self._every = False
        """Whether all programs are offered."""
        self._commands: dict[str, str] = {}
        """The command of each program that is installed, by its profile."""

    async def show(self, *, unless: Callable[[], object] = bool, only_first: bool = False) -> bool:
        """Show it until something is connected, or it is left; whether it need not be shown by itself any more.

        Args:
            unless: it is not shown if this is true once it is known what to offer: the person has begun to type.
            only_first: it is not shown either where a model is connected.
        """
        while True:
            connected, choices = await self._choices()
            if only_first and (connected or not await self._wanted()):
                return connected
            if unless():
                return False
            title = "Set up" if connected else "Connect a model"
            chosen = await self._answer(CardScreen(title, choices, self._host.write, self._take))
            if chosen is None or await self._carry_out(chosen):
                return True
            unless = bool

    def _take(self, key: str) -> None:
        self._pasted = key
        self._open_line()

    def _open_line(self, provider: str = "") -> KeyLineScreen:
        from gshtui.settings.known_providers import PASTED_KEYS, label_of

        title = f"Paste your key for {label_of(provider)}" if provider else f"Paste an {PASTED_KEYS} key"
        self._line = KeyLineScreen(title)
        self._host.push_screen(self._line, lambda _: None)
        return self._line

    async def _answer(self, screen: ModalScreen[str | None]) -> str | None:
        answered: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def answer(text: str | None) -> None:
            if not answered.done():
                answered.set_result(text)

        self._host.push_screen(screen, answer)
        return await answered

    async def _choices(self) -> tuple[bool, list[PickerChoice]]:
        from gshtui.providers.selection import usable
        from gshtui.settings.known_providers import PASTED_KEYS

        found = await usable(await self._known(), os.environ)
        rows = [PickerChoice(_KEY, "Paste a key", PASTED_KEYS, lists=True)]
        local = next((one for one in found if one.api == "ollama"), None)
        if local is not None:
            rows.append(PickerChoice(_OLLAMA, "Ollama", f"running here · {units.counted(len(local.models), 'model')}"))
        elif await asyncio.to_thread(shutil.which, "ollama"):
            rows.append(PickerChoice(_OLLAMA, "Ollama", "installed, not running: start it with `ollama serve`"))
        programs = await self._programs()
        high = self._host.textual.size.height >= _HIGH
        most = len(programs) if self._every else _PROGRAMS + 2 * high
        most += len(programs) == most + 1  # a row that says so would be no shorter
        for name, title in programs[:most]:
            rows.append(PickerChoice(_PROGRAM + name, title, "installed: use it as the first agent"))
        if more := programs[most:]:
            rows.append(PickerChoice(_MORE, f"… {len(more)} more", ", ".join(title for _, title in more), lists=True))
        if not found:
            rows.append(PickerChoice(_NOTHING, "Without a model", "use /run, /read and /find at once"))
        rows.append(PickerChoice(_THEME, "Theme", self._host.theme, group="Can wait"))
        if (shell := await self._shell()) is not None:
            rows.append(PickerChoice(_SHELL, "Shell reporting", f"agents know what you run: one line in {shell.name}"))
        return bool(found), rows

    async def _programs(self) -> list[tuple[str, str]]:
        """Other programs that are installed, by profile and title."""
        from gshtui.programs.profiles.profile_files import load  # the hub may be on its way

        profiles = (await asyncio.to_thread(load)).profiles.values()
        self._commands = {
            one.name: command
            for one in profiles
            if one.ai and (command := next(filter(shutil.which, one.programs), ""))
        }
        found = [(one.name, one.title or one.name) for one in profiles if one.name in self._commands]
        return sorted(found, key=lambda one: (_FIRST.index(one[0]) if one[0] in _FIRST else len(_FIRST), one[1]))

    async def _known(self) -> Settings:
        """The settings: the hub's, or until it is there those that it will have."""
        from gshtui.settings.loader import load

        if (settings := self._host.bridge.settings or self._settings) is None:
            settings = self._settings = (await asyncio.to_thread(load, self._host.bridge.opening.cwd)).settings
        return settings

    async def _wanted(self) -> bool:
        return (await self._known()).ui.first_questions

    async def _carry_out(self, chosen: str) -> bool:
        """Whether the card has done its work."""
        match chosen:
            case "key":
                key, self._pasted = self._pasted, ""
                return await self.connect(key)
            case "ollama":
                await self._set("agent.default_provider", "ollama")
                self._use("ollama")
            case "more":
                self._every = True
                return False
            case "theme":
                await self._theme()
                return False
            case "shell":
                await self._report_shell()
                return False
            case _ if chosen.startswith(_PROGRAM):
                from gshtui.fleet.commands.spawn_command import SpawnAgent

                name = chosen.removeprefix(_PROGRAM)
                self._host.post_message(StartAgent(SpawnAgent(profile=name, cli=self._commands[name])))
            case _:
                pass
        return True

    # A key

    async def ask_to_connect(self, key: str) -> bool:
        """Ask the person whether to use this key, which was given where none was asked for; then as `connect`."""
        from gshtui.settings.known_providers import api_of_key, label_of

        self._line = KeyLineScreen(f"This looks like a key for {label_of(api_of_key(key))}. Connect with it?", key)
        self._host.push_screen(self._line, lambda _: None)
        return await self.connect()

    async def connect_model(self, provider: str, model: str) -> None:
        """Have the person paste this provider's key, and use one of its models."""
        if await self.connect(provider=provider):
            self._use(provider, model)

    async def connect(self, key: str = "", provider: str = "") -> bool:
        """Have the person paste a key, try it, and keep it; whether a model is connected then."""
        settings = self._host.bridge.settings
        line, self._line = self._line or self._open_line(provider), None
        try:
            return settings is not None and await self._connect(settings, line, key, provider)
        finally:
            line.close()

    async def _connect(self, settings: Settings, line: KeyLineScreen, key: str, provider: str) -> bool:
        from gshtui.providers.kept_key import key_problem, try_key
        from gshtui.providers.port import ProviderError
        from gshtui.settings.known_providers import label_of, lone_key

        while key := key or await line.key():
            key = lone_key(key) or key
            if wrong := key_problem(key):
                line.show_message(f"{wrong[0].upper()}{wrong[1:]}. Copy it again.", wrong=True)
                key = ""
                continue
            place = await self._place(key, provider)
            if place is None:
                break
            line.show_message(f"Trying the key with {label_of(place.provider)}…")
            trial = asyncio.ensure_future(try_key(settings, os.environ, place, key))
            try:
                await asyncio.wait((trial, line.left), return_when=asyncio.FIRST_COMPLETED)
                if not trial.done():
                    break
                label = trial.result()
            except ProviderError as error:
                wrong = f"{error.message.rstrip('.')}."
                if error.retryable:
                    line.show_message(f"{wrong} {error.hint} Enter to try again.", wrong=True)
                    line.keep(key)
                else:
                    line.show_message(f"{wrong} Paste another key.", wrong=True)
                key = ""
                continue
            finally:
                await cancel_and_wait(trial)
            await self._keep(place, key, label)
            return True
        return False

    async def _place(self, key: str, provider: str) -> KeyPlace | None:
        from gshtui.providers.kept_key import key_places
        from gshtui.settings.known_providers import api_of_key, label_of

        settings = self._host.bridge.settings
        assert settings is not None
        places = key_places(settings)
        if provider in places:
            return places[provider]
        api = api_of_key(key)
        fitting = [place for place in places.values() if not api or place.api == api]
        if len(fitting) > 1:
            choices = [PickerChoice(one.provider, label_of(one.provider)) for one in fitting]
            hint = "{list.choose} to select · {list.close} to cancel"
            chosen = await self._answer(Picker("Whose key is it?", choices, empty="", hint=hint))
            return places.get(chosen or "")
        return fitting[0] if fitting else None

    async def _keep(self, place: KeyPlace, key: str, label: str) -> None:
        """Keep it in the keyring, or where there is none until the window ends, and go on with a hub that knows it."""
        from gshtui.providers.kept_key import keep_key
        from gshtui.settings.user_config import EditError

        try:
            why = await asyncio.to_thread(keep_key, place, key)
        except EditError as error:
            why = str(error).rstrip(".")
        if why:
            os.environ[place.variable] = key
            words = f"{label} is connected until you quit: {why}. `export {place.variable}=…` keeps the key."
            self._host.notify(words, severity="warning", markup=False, timeout=12)
        else:
            self._host.notify(f"{label} is connected. The key is in your keyring.", markup=False, timeout=6)
        await self._host.bridge.renew()
        self._use(place.provider)

    def _use(self, provider: str, model: str = "") -> None:
        self._host.publish(ModelChangeRequested(agent=self._host.addressed, provider=provider, model=model))

    async def _set(self, key: str, value: str) -> None:
        from gshtui.commands.config_calls import SetSetting

        await self._change(SetSetting(key=key, value=value))

    # What can wait

    async def _theme(self) -> None:
        host = self._host
        before = host.theme
        choices = [PickerChoice(name, name, current=name == before) for name in host.themes()]
        hint = "{list.choose} to keep it · {list.close} to go back"
        chosen = await self._answer(Picker("Theme", choices, empty="", hint=hint, preview=host.preview_theme))
        if chosen is None:
            host.preview_theme(before)
        elif chosen != before:
            await self._set("ui.theme", chosen)

    async def _shell(self) -> Path | None:
        """The start-up file of the person's shell, unless it has our line."""
        from gshtui.settings.paths import FolderError
        from gshtui.shell import startup_file
        from gshtui.shell.startup_file import StartupError

        shell = Path(os.environ.get("SHELL", "")).name
        if shell not in ("zsh", "bash"):
            return None
        try:
            file = startup_file.file_of(shell, os.environ)
            return None if await asyncio.to_thread(startup_file.has_line, file) else file
        except (StartupError, FolderError):
            return None

    async def _report_shell(self) -> None:
        """Add the plugin's line to the start-up file of the person's shell."""
        from gshtui.shell import startup_file
        from gshtui.shell.startup_file import StartupError

        file = await self._shell()
        if file is None:
            return
        shell = Path(os.environ.get("SHELL", "")).name
        try:
            await asyncio.to_thread(startup_file.add, shell, file)
        except StartupError as error:
            self._host.notify(str(error), severity="warning", markup=False)
        else:
            words = f"New shells report here: {file} has one more line. `gsh-tui shell uninstall` removes it."
            self._host.notify(words, markup=False, timeout=8)
