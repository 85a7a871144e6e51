"""The window's settings: the screen, and what its rows do.

Every change is the command `config set` or `config unset`, and applies at once where the window can: theme, keys,
notifications; also when it was typed in the chat. Personas and profiles are edited in the person's editor.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import SettingChanged
from gshtui.settings import paths
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.tasks import start_job
from gshtui.ui.kit.bridge import EventConsumer, NotReady
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.widget_messages import ChooseModel, ConnectModel, KeyGiven
from gshtui.ui.settings.settings_host import SettingsHost

if TYPE_CHECKING:
    from gshtui.agents.personas import Persona, Personas
    from gshtui.commands.declaration import Returns
    from gshtui.programs.commands import ProfileList
    from gshtui.settings.loader import Loaded
    from gshtui.settings.model import Settings
    from gshtui.ui.settings.setting_rows import SettingRow
    from gshtui.ui.settings.settings_screen import SettingsScreen
    from gshtui.ui.settings.setup_card import SetupCard


_NEW = "new persona"


class SettingsFeature(Feature):
    """See the module."""

    KEYS = ("app.settings", "app.setup")
    WORDS = {"settings": "app.settings", "setup": "app.setup"}
    CONSUMES: ClassVar[tuple[type[Event], ...]] = (SettingChanged,)

    def __init__(self, window: SettingsHost) -> None:
        super().__init__(window)
        self._host = window
        self.setup: asyncio.Task[Any] | None = None
        """What goes on with the card of the first start."""
        self._screen: SettingsScreen | None = None
        self._loaded: Loaded | None = None
        self._personas: dict[str, Persona] = {}
        self._profiles: dict[str, str] = {}
        """File by name."""

    def press(self, key: str) -> None:
        if key == "app.setup":
            self._set_up(self._card().show())
        else:
            self.window.bring(self._open(), group="settings")

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (
            FeatureRoute(
                ConnectModel, lambda wanted: self._set_up(self._card().connect_model(wanted.provider, wanted.model))
            ),
            FeatureRoute(KeyGiven, lambda given: self._set_up(self._connect(given))),
        )

    async def _connect(self, given: KeyGiven) -> None:
        card, why = self._card(), "It is kept nowhere."
        try:
            await self.window.bridge.running()
            if await (card.connect(given.key) if given.agreed else card.ask_to_connect(given.key)):
                return
        except NotReady as error:
            why = str(error)
        self.window.notify(f"The key was not used. {why}", severity="warning", markup=False)

    def watchers(self) -> Sequence[EventConsumer]:
        return (self,)

    def consume(self, events: Sequence[Event]) -> None:
        """Settings were changed: by a row here, or by `config`."""
        keys = {event.key for event in events if isinstance(event, SettingChanged)}
        self.run_work(self._apply(new_theme="ui.theme" in keys), "settings")

    async def _open(self) -> bool:
        from gshtui.ui.settings.settings_screen import SettingsScreen

        rows = await self._rows()
        if rows is not None:
            self._screen = SettingsScreen(rows, change=self._change, reset=self._reset, check=self._check)
            self.window.push_screen(self._screen)
        return rows is not None

    def offer_setup(self, *, unless: Callable[[], object] = bool) -> None:
        """Show the card for a first model where none is connected, see `SetupCard.show`."""
        self._set_up(self._offer(unless))

    async def _offer(self, unless: Callable[[], object]) -> None:
        if await self._card().show(unless=unless, only_first=True):
            with contextlib.suppress(OSError):  # then it is offered again
                await asyncio.to_thread(lambda: paths.set_up_file().touch(mode=0o600))

    def _set_up(self, work: Coroutine[Any, Any, Any]) -> None:
        """Go on with this while the person answers, in place of what was begun before."""
        if self.setup is not None:
            self.setup.cancel()
        self.setup = start_job(work, "the set-up")

    async def end(self) -> None:
        if self.setup is not None:
            self.setup.cancel()

    def _card(self) -> SetupCard:
        from gshtui.ui.settings.setup_card import SetupCard

        return SetupCard(self._host, self._run)

    async def _rows(self) -> list[SettingRow] | None:
        """All rows as the files are now; `None`: they can't be read, which was said."""
        from gshtui.agents.personas import Personas
        from gshtui.commands.config_calls import ShowSettings
        from gshtui.fleet.native.commands import ListPersonas
        from gshtui.programs.commands import ListProfiles, ProfileList
        from gshtui.ui.settings.setting_rows import SettingRow, setting_rows

        call = self.window.bridge.call
        try:
            self._loaded = (await call(ShowSettings())).loaded
        except ExpectedError as error:
            self.warn(str(error))
            return None
        personas, profiles = Personas(), ProfileList([], [])
        try:
            personas, profiles = await call(ListPersonas()), await call(ListProfiles())
        except ExpectedError as error:
            self.warn(str(error))
        self._personas = dict(personas.found)
        self._profiles = {one.profile.name: one.file for one in profiles.profiles}
        rows = await asyncio.to_thread(setting_rows, self._loaded, await _model_of_new(self._loaded.settings))
        rows += [
            SettingRow(f"persona {one.name}", "persona", one.summary, one.source, "Edit it in your editor.")
            for one in personas.found.values()
        ]
        rows += [
            SettingRow(
                f"profile {one.profile.name}",
                "profile",
                one.file,
                "",
                "How gsh-tui reads this program's screen.",
            )
            for one in profiles.profiles
        ]
        rows.append(SettingRow(_NEW, "new persona", "", "", "Create a persona and open it in your editor."))
        return rows

    # Changing a row

    def _change(self, row: SettingRow) -> None:
        match row.kind:
            case "switch":
                self._set(row, "false" if row.value == "true" else "true")
            case "choice" | "theme":
                self._choose(row)
            case "model":
                self.window.post_message(
                    ChooseModel(
                        lambda provider, model: self.run_work(self._use_model(row, provider, model), "settings")
                    )
                )
            case "key":
                self._press_key(row)
            case "persona":
                self.run_work(self._edit_persona(self._personas[row.id.partition(" ")[2]]), "settings")
            case "profile":
                self.run_work(self._edit_profile(row.id.partition(" ")[2]), "settings")
            case "new persona":
                self._name_persona()
            case _:
                self._write(row)

    def _write(self, row: SettingRow) -> None:
        from gshtui.ui.kit.widgets.dialogs import InputScreen

        hint = "a list as JSON" if row.kind == "list" else ""

        def written(text: str | None) -> None:
            if text is not None and text != row.value:
                self._set(row, text)

        self.window.push_screen(InputScreen(row.label, text=row.value, hint=hint, exact=True), written)

    def _choose(self, row: SettingRow) -> None:
        from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice

        host, is_theme = self._host, row.kind == "theme"
        before = host.theme
        words = host.themes() if is_theme else row.choices
        now = before if is_theme else row.value
        choices = [PickerChoice(word, word or "(none)", current=word == now) for word in words]
        preview = host.preview_theme if is_theme else None
        picker = Picker(
            row.label, choices, empty="", hint="{list.choose} to keep it · {list.close} to go back", preview=preview
        )

        def chosen(word: str | None) -> None:
            if word is not None:
                self._set(row, word)
            elif is_theme:
                host.preview_theme(before)

        self.window.push_screen(picker, chosen)

    async def _use_model(self, row: SettingRow, provider: str, model: str) -> None:
        """Use it in new conversations, and in the one in front."""
        from gshtui.bus.events.agent_events import ModelChangeRequested
        from gshtui.commands.config_calls import SetSetting

        await self._run(SetSetting(key=f"providers.{provider}.default_model", value=model))
        if provider != row.provider:
            await self._run(SetSetting(key="agent.default_provider", value=provider))
        self.window.publish(ModelChangeRequested(agent=self.window.addressed, provider=provider, model=model))

    def _press_key(self, row: SettingRow) -> None:
        from gshtui.settings.model import DEFAULT_KEYS
        from gshtui.ui.kit.keys.keymap import effective_keymap
        from gshtui.ui.settings.settings_screen import KeyScreen

        id = row.id.partition(".")[2]
        configured = dict(self._loaded.settings.keybindings) if self._loaded is not None else {}

        def refused(key: str) -> str:
            _, problems = effective_keymap({**configured, id: key}, elsewhere=DEFAULT_KEYS)
            found = next((one for one in problems if one.startswith(f"[keybindings] {id} = ")), "")
            return found.partition(" is ignored: ")[2].partition(". The default stays")[0]

        def pressed(key: str | None) -> None:
            if key:
                self._set(row, key)

        self.window.push_screen(KeyScreen(f"{row.help}: now {row.value}", refused), pressed)

    def _set(self, row: SettingRow, text: str) -> None:
        from gshtui.commands.config_calls import SetSetting

        # The keys of the window are in the settings only once they are changed.
        seen = None if row.kind == "key" else json.dumps(self._value(row.id))
        self.run_work(self._run(SetSetting(key=row.id, value=text, seen=seen)), "settings")

    def _value(self, key: str) -> object:
        from gshtui.settings.keys import flat

        found = flat(self._loaded.settings) if self._loaded is not None else ()
        return next((value for path, value in found if ".".join(path) == key), None)

    def _reset(self, row: SettingRow) -> None:
        from gshtui.commands.config_calls import ResetSetting

        if row.kind not in ("persona", "profile", "new persona"):
            self.run_work(self._run(ResetSetting(key=row.id)), "settings")

    async def _run(self, change: Returns[Any]) -> None:
        """Change a setting. A refusal is said, and all is shown again: what another program has changed too."""
        try:
            await self.window.bridge.call(change)
        except ExpectedError as error:
            self.warn(str(error))
            await self._apply()

    async def _apply(self, *, new_theme: bool = False) -> None:
        """Read the settings, apply them, and show them. `new_theme`: their theme replaces the one chosen here."""
        rows = await self._rows()
        if rows is not None and self._loaded is not None:
            if new_theme:
                self._host.unchoose_theme()
            self._host.apply_settings(self._loaded.settings)
            if self._screen is not None:
                self._screen.update_rows(rows)

    # Providers

    def _check(self, row: SettingRow) -> None:
        if row.provider:
            self.window.notify(f"Asking {row.provider} …", markup=False, timeout=3)
            self.run_work(self._ask_provider(row.provider), "settings")

    async def _ask_provider(self, name: str) -> None:
        from gshtui.agents.commands.provider_command import CheckProvider

        try:
            done = await self.window.bridge.call(CheckProvider(name=name))
        except ExpectedError as error:
            self.warn(f"{name} does not answer: {error}")
        else:
            self.window.notify(f"{name} answers: {done.model}, after {done.seconds:.1f} s.", markup=False, timeout=6)

    # Files

    def _name_persona(self) -> None:
        from gshtui.agents.personas import Persona
        from gshtui.ui.kit.widgets.dialogs import InputScreen

        def named(name: str | None) -> None:
            if name:
                words = "You are …\n"
                self.run_work(self._edit_persona(Persona(name.lower(), "What it is for", words)), "settings")

        self.window.push_screen(InputScreen("Name of the persona", hint="a-z, 0-9 and -"), named)

    async def _edit_persona(self, persona: Persona) -> None:
        from gshtui.agents.personas import is_persona_name

        if not is_persona_name(persona.name):
            self.warn("A persona's name may contain only a-z, 0-9 and -.")
            return
        await self._edit(lambda: persona_file(persona))

    async def _edit_profile(self, name: str) -> None:

        await self._edit(lambda: profile_file(name, self._profiles[name]))

    async def _edit(self, make: Any) -> None:
        from gshtui.system.editor_command import EditorError
        from gshtui.ui.kit.terminal_handoff import edit_file

        try:
            file: Path = await asyncio.to_thread(make)
            await edit_file(self._host.textual, file, os.environ)
        except EditorError as error:
            self.warn(str(error))
            return
        except OSError as error:
            self.warn(f"Can't create the file: {error.strerror or error}.")
            return
        rows = await self._rows()
        problems = await self._problems(file)
        if problems:
            self.warn(problems)
        if rows is not None and self._screen is not None:
            self._screen.update_rows(rows)

    async def _problems(self, file: Path) -> str:
        """What is wrong with a file that was edited; empty: nothing."""
        from gshtui.fleet.native.commands import ListPersonas
        from gshtui.programs.commands import ListProfiles

        try:
            personas: Personas = await self.window.bridge.call(ListPersonas())
            profiles: ProfileList = await self.window.bridge.call(ListProfiles())
        except ExpectedError as error:
            return str(error)
        return next((one for one in (*personas.problems, *profiles.problems) if str(file) in one), "")


async def _model_of_new(settings: Settings) -> str:
    """The label of the model that a new conversation gets; empty: what is set can't be used."""
    from gshtui.providers.port import ProviderError
    from gshtui.providers.selection import choose_model

    try:
        choice = await choose_model(settings, os.environ)
    except ProviderError:
        return ""
    await choice.provider.close()
    return choice.label


def persona_file(persona: Persona) -> Path:
    """The file to edit: the persona's own, or a new one with the same content. Raises `OSError`."""
    own = paths.config_dir() / "agents"
    if persona.source and Path(persona.source).parent == own:
        return Path(persona.source)
    import tomlkit

    fields = {
        "name": persona.name,
        "summary": persona.summary,
        "prompt": tomlkit.string(persona.words, multiline="\n" in persona.words),
        "tools": list(persona.tools),
        "read_only": persona.read_only,
        "provider": persona.provider,
        "model": persona.model,
    }
    kept = {name: value for name, value in fields.items() if value or name in ("name", "summary", "prompt")}
    return _made(own / f"{persona.name}.toml", tomlkit.dumps(kept).encode())  # pyright: ignore[reportUnknownMemberType]


def profile_file(name: str, file: str) -> Path:
    """The file to edit: the user's, or a copy of the one that ships with the program. Raises `OSError`."""
    own = paths.config_dir() / "profiles"
    if Path(file).parent == own:
        return Path(file)
    return _made(own / f"{name}.toml", Path(file).read_bytes())


def _made(file: Path, content: bytes) -> Path:
    private_files.make_folder(file.parent)
    if not file.exists():
        private_files.write_whole(file, content)
    return file
