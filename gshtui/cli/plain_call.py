"""A command typed plainly, which the keeper runs: it is asked before click is loaded, which takes longer than the call.

Plain is the name of a command that the keeper runs, then exactly its arguments, then perhaps `--json`. All else is
left to click: options, help, mistakes, and whatever no keeper does. Called by `entry`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gshtui.cli.command_form import CommandForm
from gshtui.cli.declared_forms import COMMANDS, GROUPS

_AS_TYPED = frozenset({"text", "agent"})
"""The kinds of values that click takes as they are."""


def by_keeper(arguments: list[str], prepare: Callable[[], None] = lambda: None) -> int | None:
    """Have the keeper run it, or run it here; returns its exit code, or `None` where click has to see to it.

    Args:
        prepare: called before it is run here.
    """
    if (call := plain_call(arguments)) is None:
        return None
    form, values, as_json = call
    from gshtui.headless.keeper_call import KeeperCall, Silent, run_by_keeper
    from gshtui.settings.paths import FolderError

    silent = 0
    try:
        code = run_by_keeper(
            KeeperCall(form.name, form.declared, values, json=as_json, yes=False, waiting=form.by_keeper)
        )
        if code is not None:
            return code
    except Silent as keeper:
        silent = keeper.pid
    except FolderError:
        return None
    prepare()
    from gshtui.cli.declared import without_keeper  # click would ask the keeper once more

    try:
        return without_keeper(form, values, silent, as_json=as_json)
    except FolderError:
        return None


def plain_call(arguments: Sequence[str]) -> tuple[CommandForm, dict[str, Any], bool] | None:
    """The form, its values and whether JSON is wanted; `None`: it is not plain, or nothing that the keeper runs."""
    if not (words := list(arguments[:2])):
        return None
    for group in GROUPS:
        if group.name == words[0] and len(words) == 2:
            words[1] = dict(group.synonyms).get(words[1], words[1])
    form = next((one for one in COMMANDS if one.by_keeper and one.name == " ".join(words)), None)
    if form is None:
        return None
    rest = list(arguments[2:])
    if as_json := rest[-1:] == ["--json"]:
        rest.pop()
    wanted = [value for value in form.values if value.is_argument]
    if len(rest) != len(wanted) or any(not word or word.startswith("-") for word in rest):
        return None
    if any(value.kind not in _AS_TYPED or value.many or value.each for value in wanted):
        return None
    if form.takes_settings or any(value.file or value.default is not None for value in form.values):
        return None
    return form, {value.field: word for value, word in zip(wanted, rest, strict=True)}, as_json
