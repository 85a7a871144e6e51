"""The questions of the very first start: provider, theme, and whether the person's shell reports to the window.

Three at most, one list each; what is there already is not asked. Each is answered by `enter`, which alone changes
something; `escape` leaves them all for good, and so do words that no answer has: they are a prompt, and go on in the
input line.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice

if TYPE_CHECKING:
    from gshtui.ui.settings.settings_host import SettingsHost

_OFFLINE = "offline"
_SHORT_HINT = "{list.choose} to select · {list.close} to skip setup"
_HINT = f"{_SHORT_HINT}; {{app.settings}} shows all settings"


class FirstQuestion(Picker):
    """A question that leaves as soon as something else is typed.

    Args:
        typed: receives what was typed, in pieces.
    """

    def __init__(
        self, title: str, choices: Sequence[PickerChoice], typed: Callable[[str], None], **options: Any
    ) -> None:
        super().__init__(title, choices, empty="", **options)
        self._typed_words = typed
        self._given = 0
        """Characters that were handed on."""

    def fill(self) -> None:
        super().fill()
        if self._given or (self.words and self.chosen is None):
            leaves = not self._given
            self._typed_words(self.words[self._given :])
            self._given = len(self.words)
            if leaves:
                self.dismiss(None)


class FirstStart:
    """Asks, and has each answer carried out.

    Args:
        providers: those that could be used now, the offline one not among them.
        set_value: changes a setting: its dotted key, and the value as text.
    """

    def __init__(
        self, host: SettingsHost, providers: Sequence[str], set_value: Callable[[str, str], Awaitable[None]]
    ) -> None:
        self._host = host
        self._providers = [name for name in dict.fromkeys(providers) if name != _OFFLINE]
        self._set = set_value

    async def ask(self) -> None:
        """Ask one question after the other."""
        for question in (self._provider, self._theme, self._shell):
            if not await question():
                return
        self._host.notify("`gsh-tui replay tour` shows the window in two minutes.", markup=False, timeout=8)

    async def _answer(self, title: str, choices: Sequence[PickerChoice], **options: Any) -> str | None:
        answered: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def take(answer: str | None) -> None:
            if not answered.done():
                answered.set_result(answer)

        self._host.push_screen(FirstQuestion(title, choices, self._host.write, **options), take)
        return await answered

    async def _provider(self) -> bool:
        """Which of several providers answers. Where there is one or none, there is nothing to choose."""
        if len(self._providers) < 2:
            return True
        choices = [PickerChoice(name, name, "can be used now") for name in self._providers]
        chosen = await self._answer("Welcome. Which provider's model answers?", choices, hint=_HINT)
        if chosen is not None:
            await self._set("agent.default_provider", chosen)
        return chosen is not None

    async def _theme(self) -> bool:
        before = self._host.theme
        choices = [PickerChoice(name, name, current=name == before) for name in self._host.themes()]
        title = "Welcome. Which theme do you like?"
        chosen = await self._answer(title, choices, hint=_SHORT_HINT, preview=self._host.preview_theme)
        if chosen is None:
            self._host.preview_theme(before)
        elif chosen != before:
            await self._set("ui.theme", chosen)
        return chosen is not None

    async def _shell(self) -> bool:
        """Whether to add the plugin's line to the start-up file of the person's shell."""
        from gshtui.settings.paths import FolderError
        from gshtui.shell import startup_file
        from gshtui.shell.startup_file import StartupError

        shell = Path(os.environ.get("SHELL", "")).name
        if shell not in ("zsh", "bash"):
            return True
        try:
            file = startup_file.file_of(shell, os.environ)
            if await asyncio.to_thread(startup_file.has_line, file):
                return True
            choices = [
                PickerChoice("no", "No, not now", "`gsh-tui shell install` does it later", current=True),
                PickerChoice("yes", f"Yes: add one line to {file}", "a copy of the old file is kept beside it"),
            ]
            title = "Shall agents know what you run in your shells?"
            chosen = await self._answer(title, choices, hint=_HINT)
            if chosen == "yes":
                await asyncio.to_thread(startup_file.add, shell, file)
                self._host.notify(f"New shells report here. {file} has one more line.", markup=False, timeout=6)
        except (StartupError, FolderError) as error:
            self._host.notify(str(error), severity="warning", markup=False)
            return True
        return chosen is not None
