"""A terminal in a tab: mirrored while it is on the screen, typed into, and sent the mouse where its program wants it.

Owns the mirror's subscription, and what keys and mouse mean; refuses to know whose terminal it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Offset
from textual.reactive import reactive
from textual.selection import Selection
from textual.timer import Timer

from gshtui.ui.kit.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.terminal import terminal_input
from gshtui.ui.terminal.terminal_input import Keyboard, MouseKind, mouse_bytes
from gshtui.ui.terminal.terminal_reader import TerminalReader
from gshtui.ui.terminal.terminals import Terminal, TerminalWatch

if TYPE_CHECKING:
    from gshtui.tmux.frames import Frame
    from gshtui.tmux.panes import PaneInfo

_SETTLE = 0.05
"""Seconds that a new size of the tab must last before the program is told of it."""
_WHEEL = 3
"""Rows of a turn of the wheel."""


class TerminalView(TerminalReader):
    """See the module."""

    can_focus = True
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("terminal.leave", "leave"),
        bind("terminal.type", "type"),
        bind("terminal.copy", "copy"),
        bind("terminal.next", "found(1)"),
        bind("terminal.previous", "found(-1)"),
        bind("terminal.up", "rows(-1)"),
        bind("terminal.down", "rows(1)"),
        bind("terminal.page_up", "pages(-1)"),
        bind("terminal.page_down", "pages(1)"),
        bind("terminal.home", "home"),
        bind("terminal.end", "end"),
        bind("terminal.back", "back"),
    ]

    typing: reactive[bool] = reactive(False)
    """Every key goes to the program."""

    def __init__(self, terminal: Terminal, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._terminal = terminal
        self._watching: TerminalWatch | None = None
        self._keyboard = Keyboard(terminal, self._sends, self._sent, self._not_sent)
        self._resizing: Timer | None = None
        self._said: tuple[Any, ...] = ()
        self._shown = True

    @property
    def takes_every_key(self) -> bool:
        """No key means anything to the window while this has the focus."""
        return self.typing

    @property
    def info(self) -> PaneInfo | None:
        """How the terminal was when last seen."""
        return self.frame.info if self.frame is not None else None

    # The watch

    def on_resize(self) -> None:
        super().on_resize()
        if not self.size:
            return
        if self._watching is None:
            self._watching = self._terminal.watch(self._on_frame, self.size.width, self.size.height)
            self._watching.visible(self._shown)
        elif self._resizing is None:
            self._resizing = self.set_timer(_SETTLE, self._resized)
        else:
            self._resizing.reset()

    def _resized(self) -> None:
        self._resizing = None
        # While it is held still a line of words may stand below it for a moment; the program need not know.
        if self._watching is not None and self.size and self.past is None:
            self._watching.resize(self.size.width, self.size.height)

    def let_go(self) -> None:
        super().let_go()
        if self._resizing is None:
            self._resizing = self.set_timer(_SETTLE, self._resized)

    def connect(self, terminal: Terminal) -> None:
        """Show another terminal from now on: the agent was started anew."""
        if self._watching is not None:
            self._watching.close()
        self._watching = None
        self.typing = False
        self.let_go()
        self.frame = None
        self.failed = ""
        self._terminal = terminal
        self.run_worker(self._keyboard.close(), exit_on_error=False)
        self._keyboard = Keyboard(terminal, self._sends, self._sent, self._not_sent)
        self.on_resize()

    def seen_again(self, shown: bool) -> None:
        """Whether anybody can see it; what nobody sees is not looked at."""
        self._shown = shown
        if self._watching is not None:
            self._watching.visible(shown)

    def on_show(self) -> None:
        self.seen_again(True)

    def on_hide(self) -> None:
        self.seen_again(False)

    async def on_unmount(self) -> None:
        if self._watching is not None:
            self._watching.close()
        await self._keyboard.close()

    async def history(self, start: int, end: int) -> list[str]:
        return await self._watching.history(start, end) if self._watching is not None else []

    def _on_frame(self, frame: Frame) -> None:
        if not self.is_attached:
            return
        self.show_frame(frame)
        info = frame.info
        if self._said[2:3] != (info.dead,):  # the first frame, or its end
            self.typing = self.typing and not info.dead
            self.refresh_bindings()
        said = (frame.gone, self.behind, info.dead, info.exit_status, info.alternate, info.attached, info.title)
        said += (info.width, info.height, info.command)
        if said != self._said:
            self._said = said
            self.post_message(self.Changed())

    # Typing

    def action_type(self) -> None:
        """From now on every key goes to the program."""
        info = self.info
        if info is None or info.dead:
            self.notify("Nothing runs in this terminal any more.", timeout=4, markup=False)
            return
        self.let_go()
        self.typing = True

    def action_leave(self) -> None:
        self.typing = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.typing or action == "leave":
            return self.typing and action == "leave"
        if action == "type":
            return self.info is not None and not self.info.dead
        return super().check_action(action, parameters)

    def watch_typing(self) -> None:
        self.set_class(self.typing, "-typing")
        self.refresh()
        self.refresh_bindings()
        self.post_message(self.Changed())

    def on_blur(self) -> None:
        # A window that is in the background for a while is typed into again when it comes back.
        if app_of(self).app_focus:
            self.typing = False
        self._noticed()

    def on_focus(self) -> None:
        self._noticed()

    def _noticed(self) -> None:
        self.refresh()
        self.post_message(self.Changed())

    async def on_key(self, event: events.Key) -> None:
        if not self.typing:
            return
        event.stop()
        event.prevent_default()
        if text := terminal_input.key_text(event.key, event.character):
            self._keyboard.text(text)
        elif name := terminal_input.key_name(event.key):
            self._keyboard.key(name)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self.typing:
            self._keyboard.paste(event.text)
        else:
            self.notify("Press enter first: then what you paste goes into the terminal.", timeout=4, markup=False)

    def _sends(self) -> None:
        if self._watching is not None:
            self._watching.poke()

    def _sent(self) -> None:
        if self.failed:
            self.failed = ""
            self.post_message(self.Changed())

    def _not_sent(self, why: str) -> None:
        self.failed = why
        self.typing = False
        self.post_message(self.Changed())

    def cursor_style(self) -> Style | None:
        if self.typing:
            return Style(reverse=True)
        return Style(underline=True) if self.has_focus else None

    # Mouse

    @property
    def allow_select(self) -> bool:
        return not self._wants_mouse

    @property
    def _wants_mouse(self) -> bool:
        """The program is told what the mouse does."""
        info = self.info
        return self.typing and info is not None and info.mouse and not info.dead

    def _tell_mouse(self, kind: MouseKind, event: events.MouseEvent) -> None:
        info = self.info
        if info is not None:
            modifiers = {"shift": event.shift, "alt": event.meta, "ctrl": event.ctrl}
            row = event.y + self._first
            if data := mouse_bytes(info, kind, event.x, row, button=event.button, **modifiers):
                self._keyboard.mouse(data, motion=kind == "move")
        event.stop()
        event.prevent_default()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if self._wants_mouse:
            self.capture_mouse()
            self._tell_mouse("down", event)
        elif event.button == 1 and self.frame is not None:
            self.hold()  # what is selected must not run away

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        if self._wants_mouse:
            self._tell_mouse("up", event)
        else:
            self.call_after_refresh(self._go_on_if_read)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._wants_mouse:
            self._tell_mouse("move", event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1)

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        """A full-screen program has no past to scroll in: it is told of the wheel, or of arrow keys."""
        info = self.info
        if info is not None and not info.dead and self.past is None and (info.alternate or self._wants_mouse):
            if info.mouse:
                self._tell_mouse("wheel_up" if direction < 0 else "wheel_down", event)
                return
            for _ in range(_WHEEL):
                self._keyboard.key("Up" if direction < 0 else "Down")
        else:
            self.scroll_rows(_WHEEL * direction)
        event.stop()
        event.prevent_default()

    def text_select_all(self) -> None:
        """Select the row under the mouse: what a double click means."""
        y = app_of(self).mouse_position.y - self.region.y
        line = self.line_at(y)
        if line is not None and line.strip():
            number = self.selection_row(y)
            end = len(self.words(line).rstrip())
            self.screen.selections = {self: Selection(Offset(0, number), Offset(end, number))}
