"""Faults put into the program from outside: every handler of every widget of ours, found by looking, made to raise.

Owns what counts as a handler, and how each is set off without what it needs to work: it raises before it looks. New
widgets and handlers are found without anybody's help.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from textual import events
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump
from textual.reactive import Reactive
from textual.screen import Screen

import gshtui.ui

_HANDLERS = re.compile(r"_?(on|key|action|watch|validate)_(?!event$)")


class InjectedFault(Exception):
    """The fault."""


def new_fault(text: str) -> InjectedFault:
    """A fault that is none of those before it, though it comes from the same line."""
    return type("Injected", (InjectedFault,), {})(text)


@dataclass(frozen=True)
class Handler:
    """A method that Textual calls."""

    owner: type[Any]
    name: str
    kind: str
    """message, action, key, watch, validate"""
    messages: tuple[type[Message], ...] = ()

    def __str__(self) -> str:
        return f"{self.owner.__qualname__}.{self.name}"


def handlers() -> list[Handler]:
    """Every handler of every widget, screen and app of ours."""
    for module in pkgutil.walk_packages(gshtui.ui.__path__, "gshtui.ui."):
        importlib.import_module(module.name)
    kinds = {kind.handler_name: kind for kind in _below(Message)}
    found: list[Handler] = []
    ours = [owner for owner in _below(MessagePump) if owner.__module__.startswith("gshtui.ui.")]
    for owner in sorted(set(ours), key=lambda one: (one.__module__, one.__qualname__)):
        for name, member in vars(owner).items():
            if not callable(member):
                continue
            decorated = getattr(member, "_textual_on", None)
            if decorated:
                found.append(Handler(owner, name, "message", tuple(kind for kind, _ in decorated)))
            elif match := _HANDLERS.match(name):
                if match[1] != "on":
                    found.append(Handler(owner, name, match[1]))
                elif (kind := kinds.get(name.removeprefix("_"))) is not None:
                    found.append(Handler(owner, name, "message", (kind,)))
    return found


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def would_call(part: Any, handler: Handler) -> bool:
    """Whether Textual would call this handler on `part`, and none of a class below it first."""
    for kind in type(part).__mro__:
        if kind is handler.owner:
            return True
        bare = handler.name.removeprefix("_")
        names = {bare, f"_{bare}", *(f"{under}{one.handler_name}" for one in handler.messages for under in ("", "_"))}
        table: dict[Any, Any] = vars(kind).get("_decorated_handlers", {})
        if names & vars(kind).keys() or table.keys() & set(handler.messages):
            return False
    return False


@contextmanager
def break_handler(handler: Handler) -> Iterator[list[int]]:
    """The handler raises `Injected` once, and does nothing after that; gives how often it was called."""
    original = vars(handler.owner)[handler.name]
    calls: list[int] = []

    def raising(self: Any, *arguments: Any) -> None:
        calls.append(len(calls))
        if arguments and isinstance(arguments[0], Message):
            arguments[0].prevent_default()  # what Textual's own classes would do with a message that is empty
            arguments[0].stop()
        if len(calls) == 1:
            raise new_fault(str(handler))

    table: dict[Any, list[Any]] = vars(handler.owner).get("_decorated_handlers", {})
    kept = {kind: list(entries) for kind, entries in table.items()}
    if hasattr(original, "_textual_on"):
        raising._textual_on = original._textual_on  # type: ignore[attr-defined]
        for kind, entries in kept.items():
            table[kind] = [(raising, {}) if method is original else (method, on) for method, on in entries]
    setattr(handler.owner, handler.name, raising)
    try:
        yield calls
    finally:
        setattr(handler.owner, handler.name, original)
        table.update(kept)


async def trigger_handler(handler: Handler, part: Any, app: App[Any]) -> None:
    """Have Textual call the handler on `part`, as it does in life."""
    if handler.kind == "message":
        part.post_message(empty_message(handler.messages[0]))
    elif handler.kind == "key":
        part.post_message(events.Key(handler.name.removeprefix("_").removeprefix("key_"), None))
    elif handler.kind == "action":
        part.call_later(app._dispatch_action, part, handler.name.removeprefix("_").removeprefix("action_"), ())
    elif handler.kind == "watch":
        name = handler.name.removeprefix("_").removeprefix("watch_")
        part.call_later(Reactive._check_watchers, part, name, getattr(part, name, None))
    else:
        name = handler.name.removeprefix("_").removeprefix("validate_")
        part.call_later(setattr, part, name, getattr(part, name))


def empty_message(kind: type[Message]) -> Message:
    """A message of a kind, with nothing in it that its own class puts there."""
    if kind is events.Key:
        return events.Key("x", "x")
    message = kind.__new__(kind)
    Message.__init__(message)
    if isinstance(message, events.InputEvent):
        message._set_forwarded()
    return message


def blank_widget(kind: type[Any]) -> Any:
    """A widget of this class with nothing in it: its methods can be called, and it can be mounted unseen."""
    base: Any = next(one for one in kind.__mro__ if not one.__module__.startswith("gshtui."))
    made: Callable[..., Any] = type(
        f"Blank{kind.__name__}",
        (kind,),
        {
            "__init__": lambda self: base.__init__(self),
            "compose": lambda self: (),
            "DEFAULT_CSS": "",
            "inherit_css": False,
        },
    )
    part = made()
    if not isinstance(part, Screen):
        part.display = False
    return part
