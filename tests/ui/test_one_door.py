"""A command is declared once: the language, completion, palette, tools, calls from code and its question come of it."""

import asyncio
import contextlib
import inspect
import sys
import typing
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import click
import pytest
from pydantic import Field
from textual.app import App
from textual.pilot import Pilot

from gshtui.cli import declared
from gshtui.cli.declared_forms import CommandForm, read_forms
from gshtui.cli.form_projection import command_form, written
from gshtui.commands import evaluation, execution
from gshtui.commands.catalogue import Catalogue
from gshtui.commands.completion import complete
from gshtui.commands.declaration import (
    Access,
    Action,
    AttachView,
    Caller,
    Command,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Question,
    Returns,
    Unconfirmed,
    UnknownCommand,
    UsageError,
    Where,
)
from gshtui.commands.help_command import explain
from gshtui.commands.printed_outcome import line_printed
from gshtui.commands.registry import Registry, returned
from gshtui.commands.schema import tool_schema
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.headless.commands.declared_command import DeclaredCall, run_on
from gshtui.headless.outcomes import print_outcome
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.ui.agents.agents_feature import AgentsFeature
from gshtui.ui.context.context_feature import ContextFeature
from gshtui.ui.kit.keys.key_table import KEYS, Key
from gshtui.ui.kit.row_actions import RowActions
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.kit.widgets.dialogs import ConfirmScreen, Picker
from gshtui.ui.shell.shell_feature import ShellFeature
from gshtui.ui.window.features import FEATURES
from gshtui.ui.window.palette import command_entries
from tests.kit.fake_hub import OPENS
from tests.kit.keyboard import Keyboard
from tests.kit.pty_child import PtyChild
from tests.kit.running_hub import running_hub, started_hub
from tests.kit.window import Window, at_rest, settled

PERSON = Invocation(Caller(), Path("/"), Path("/"))


@dataclass(frozen=True)
class Watered:
    """What `water` gives."""

    plant: str
    litres: float


class Water(Parameters, Returns[Watered]):
    """Parameters of `water`."""

    COMMAND: ClassVar[str] = "water"
    SHELL = ShellForm(parts=frozenset())
    plant: Annotated[str, ShellOption(metavar="PLANT")] = Field(default="fern", description="Which one.")
    litres: float = Field(default=1.0, description="How much.")
    yes: bool = Field(default=False, description="Also when it is wet.")


class Garden:
    """Waters plants, and asks before one drowns."""

    def __init__(self) -> None:
        self.watered: list[Watered] = []
        self.wet = ["Its saucer is full."]

    def command(self) -> Command[Any]:
        action = Action(
            Water,
            self.run,
            self.render,
            asks=self.asks,
            shows=self.shows,
            effect=Effect.WRITE,
            where=(Where("garden.water", lambda plant: Water(plant=plant)),),
        )
        return Command(
            "water",
            "Give a plant water",
            Water,
            action.handle,
            effect=Effect.WRITE,
            positions=("plant",),
            tool=True,
            actions=(action,),
        )

    async def run(self, _invocation: Invocation, parameters: Water) -> Watered:
        if self.wet and not parameters.yes:
            raise Unconfirmed("It is wet already.")
        self.watered.append(Watered(parameters.plant, parameters.litres))
        return self.watered[-1]

    def render(self, _invocation: Invocation, done: Watered) -> Outcome:
        return Outcome({"plant": done.plant}, f"{done.plant} got {done.litres:g} l.")

    async def asks(self, _invocation: Invocation, parameters: Water) -> Question | None:
        agreed = parameters.model_copy(update={"yes": bool(self.wet)})
        return Question(agreed, f"Water {parameters.plant}?", "It stands in the sun.", "Water", losses=tuple(self.wet))

    async def shows(self, _invocation: Invocation, done: Watered) -> AttachView | None:
        return AttachView(done.plant)


async def test_it_is_called_by_value_and_by_line_and_offered_to_models() -> None:
    garden = Garden()
    registry = Registry([garden.command()])
    done = await execution.call(registry, Water(plant="moss", yes=True), PERSON)
    assert done.litres == 1.0  # typed: pyright knows that it is `Watered`
    outcome = await evaluation.run_line(registry, "/water moss litres=2 yes=true", PERSON)
    assert outcome.data == {"plant": "moss"} and outcome.view == AttachView("moss")
    assert execution.bound(registry, "water moss litres=2") == Water(plant="moss", litres=2)
    assert (await execution.run_value(registry, Water(yes=True), PERSON)).text == "fern got 1 l."
    assert [one.value for one in await complete(registry, PERSON, "/wat", 4)] == ["water"]
    assert "litres=" in [one.value for one in await complete(registry, PERSON, "/water moss li", 14)]
    assert set(tool_schema(registry.tools()[0])["properties"]) == {"plant", "litres", "yes"}
    with pytest.raises(Unconfirmed):  # headless, nothing is asked: without a yes it does nothing
        await evaluation.run_line(registry, "water", PERSON)


async def test_what_is_for_people_is_refused_to_agents_also_by_value() -> None:
    garden = Garden()
    action = Action(Water, garden.run, garden.render, access=Access.HUMAN_ONLY)
    registry = Registry([Command("water", "Give a plant water", Water, action.handle, actions=(action,))])
    agent = Invocation(Caller("0001", is_agent=True), Path("/"), Path("/"))
    with pytest.raises(UsageError, match="for people only"):
        await execution.call(registry, Water(yes=True), agent)


def test_parameters_of_another_command_are_refused() -> None:
    garden = Garden()
    action = Action(Water, garden.run, garden.render)
    with pytest.raises(ValueError, match="Water must be Returns"):
        Registry([Command("mist", "Give a plant water", Water, action.handle, actions=(action,))])


async def test_an_action_gives_what_its_parameters_say(tmp_path: Path) -> None:
    async with running_hub(tmp_path) as hub:
        commands = [one for whole in hub.registry for one in (whole, *whole.words.values())]
        actions = [action for command in commands for action in command.actions]
        given = {action.parameters: typing.get_type_hints(inspect.unwrap(action.run))["return"] for action in actions}
    assert {parameters: returned(parameters) for parameters in given} == given


async def test_what_an_action_is_about_stands_behind_its_word(tmp_path: Path) -> None:
    """`calls rm lobby`, without `call=`."""
    async with running_hub(tmp_path) as hub:
        words = hub.registry.get("calls").words
    assert [word for word, one in words.items() if "call" in one.parameters.model_fields and not one.positions] == []


def shell_form(garden: Garden) -> CommandForm:
    command = garden.command()
    return command_form(command.actions[0], command.positions)


def test_the_form_that_is_written_is_the_declared_one() -> None:
    form = shell_form(Garden())
    _, (read,) = read_forms(written([], [form]).encode())
    assert (read.name, read.module, read.parameters) == ("water", Water.__module__, "Water")
    assert [value.name for value in read.values] == ["plant", "--litres"]


def test_the_reference_has_it() -> None:
    said = explain(Garden().command())
    assert "**water** — Give a plant water" in said and "- `litres`: How much. (default `1.0`)" in said


def test_the_shell_has_it_with_its_help() -> None:
    with click.Context(declared.command(shell_form(Garden())), info_name="water") as context:
        said = context.command.get_help(context)
    assert "Usage: water [OPTIONS] [PLANT]" in said and "Parameters of `water`." in said
    assert "--litres FLOAT" in said and "How much." in said and "[default: 1.0]" in said
    assert "-y, --yes" in said and "--json" in said


def test_the_shell_makes_its_value_of_the_words() -> None:
    taken: list[dict[str, Any]] = []

    def run(form: CommandForm, given: dict[str, Any]) -> int:
        taken.append(declared.values(form, given) | {"json": given["as_json"], "yes": given["yes"]})
        return 0

    made = declared.command(shell_form(Garden()), run)
    assert made.main(["moss", "--litres", "2", "--json"], standalone_mode=False) == 0
    assert taken == [{"plant": "moss", "litres": 2.0, "json": True, "yes": False}]
    with pytest.raises(click.BadParameter):
        made.main(["moss", "--litres", "much"], standalone_mode=False)


@pytest.fixture
async def shed(tmp_path: Path) -> AsyncIterator[tuple[Hub, Garden]]:
    """A hub of a command of the shell, and the garden."""
    garden = Garden()
    hub = build_hub(HubOptions(cwd=tmp_path, loaded=load(tmp_path), parts=frozenset(), visiting=True))
    hub.registry.register(garden.command())
    await hub.start()
    yield hub, garden
    await hub.stop()


async def test_the_shell_does_nothing_that_costs_something_where_nobody_can_be_asked(shed: tuple[Hub, Garden]) -> None:
    hub, garden = shed
    with pytest.raises(Unconfirmed, match="It is wet already"):
        await run_on(hub, DeclaredCall(Water, {"plant": "moss"}), lambda: None)
    assert garden.watered == []
    ran = await run_on(hub, DeclaredCall(Water, {"plant": "moss"}, yes=True, json=True), lambda: None)
    assert not isinstance(ran, int)
    assert ran.outcome.data == {"plant": "moss"} and ran.outcome.text == "moss got 1 l."


async def in_the_shell(call: DeclaredCall, folder: Path) -> int:
    """`gsh-tui water` on a hub that has it; gives the exit code."""
    garden = Garden()
    hub = build_hub(HubOptions(cwd=folder, loaded=load(folder), parts=frozenset(), visiting=True))
    hub.registry.register(garden.command())
    async with started_hub(hub):
        ran = await run_on(hub, call, lambda: None)
    return ran if isinstance(ran, int) else print_outcome(line_printed(ran.outcome, as_json=call.json, plain=False))


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 4)])
def test_the_shell_asks_its_question_at_a_terminal(tmp_path: Path, answer: bytes, code: int) -> None:
    with contextlib.closing(
        PtyChild([sys.executable, "-m", "tests.ui.test_one_door", "moss", "--json"], tmp_path)
    ) as child:
        child.go()
        child.read_until(lambda: b"[y/N]" in child.output)
        child.write(answer)
        assert child.wait() == code
    shown = child.output.decode()
    assert "Its saucer is full. It stands in the sun. Water moss? [y/N]" in shown
    assert ('{"plant": "moss"}' in shown) == (code == 0)


class Gardener(Window):
    """A window with that command on a key."""

    BINDINGS = [("f12", "water", "Water")]

    def __init__(self, garden: Garden) -> None:
        self.registry = Registry([garden.command()])
        super().__init__(commands=self.registry)
        self.opened: list[str] = []

    def action_water(self) -> None:
        self.perform(Water())

    def on_open_terminal(self, message: OpenTerminal) -> None:
        message.prevent_default()
        self.opened.append(message.agent)


async def by_key(app: Gardener, pilot: Pilot[int]) -> None:
    await pilot.press("f12")


async def by_line(app: Gardener, pilot: Pilot[int]) -> None:
    app.run_command("/water")


async def by_palette(app: Gardener, pilot: Pilot[int]) -> None:
    assert app.bridge.hub is not None
    app.bridge.hub.commands = Catalogue(app.registry)
    (entry,) = command_entries(app)
    assert entry.label == "/water"
    entry.run()


async def by_key_of_a_row(app: Gardener, pilot: Pilot[int]) -> None:
    RowActions[str](app, ("garden",), ()).perform("garden.water", "fern")


async def by_menu_of_a_row(app: Gardener, pilot: Pilot[int]) -> None:
    RowActions[str](app, ("garden",), ()).show_menu("A plant", "fern")
    await settled(pilot)
    assert isinstance(app.screen, Picker)
    await pilot.press(*"water", "enter")


@pytest.mark.parametrize("way", [by_key, by_line, by_palette, by_key_of_a_row, by_menu_of_a_row])
async def test_the_same_question_by_every_way_in_the_window(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "garden.water", Key("w", "Water", "Give it water", "In the garden", row=True))
    garden = Garden()
    app = Gardener(garden)
    async with at_rest(app, (100, 30)) as pilot:
        await way(app, pilot)
        await settled(pilot)
        assert isinstance(app.screen, ConfirmScreen)
        shown = app.export_screenshot().replace("&#160;", " ")
        assert "Water fern?" in shown and "Its saucer is full." in shown
        await pilot.press("escape")
        await settled(pilot)
        assert garden.watered == [] and app.opened == []
        await way(app, pilot)
        await settled(pilot)
        Keyboard(app).post("y")
        await settled(pilot)
        assert garden.watered == [Watered("fern", 1.0)] and app.opened == ["fern"]


async def test_what_comes_up_after_the_question_is_asked_about_again() -> None:
    garden = Garden()
    garden.wet = []
    app = Gardener(garden)
    async with at_rest(app, (100, 30)) as pilot:
        app.run_command("water")
        await settled(pilot)
        garden.wet = ["It rains."]
        Keyboard(app).post("y")
        await settled(pilot)
        assert garden.watered == [] and isinstance(app.screen, ConfirmScreen)
        Keyboard(app).post("y", after=10.0)
        await settled(pilot)
        assert len(garden.watered) == 1


class Notebook(Garden):
    """Says in words what it did."""

    def render(self, _invocation: Invocation, done: Watered) -> Outcome:
        return Outcome(done.plant, "**Done**: `tmux -L x attach` shows it, `water fern` does it again.")

    async def shows(self, _invocation: Invocation, done: Watered) -> None:
        return None


async def test_a_notice_is_plain_text_with_our_commands_as_typed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    app, said = Gardener(Notebook()), list[str]()

    def notify(_: object, text: str, **__: object) -> None:
        said.append(text)

    async def unknown(line: str) -> None:
        raise UnknownCommand(f"There is no command in {line}.")

    def answer(line: str, text: str, *, failed: bool) -> bool:
        said.append(text)
        return failed

    async with at_rest(app, (100, 30)) as pilot:
        monkeypatch.setattr(App, "notify", notify)
        await pilot.press("f12")
        await settled(pilot)
        Keyboard(app).post("y")
        await settled(pilot)
        assert said == ["Done: tmux -L x attach shows it, /water fern does it again."]
        monkeypatch.setattr(app, "show_outcome", answer)
        monkeypatch.setattr(await app.bridge.running(), "bound", unknown)
        await app.runner.run_line("/theme gsh-light")
    assert said[1:] == ["/theme takes nothing after it. Write /theme alone."]


async def test_what_bare_names_open_is_declared_and_there(tmp_path: Path) -> None:
    parts = frozenset({"store", "providers", "fleet", "guard"})
    async with running_hub(tmp_path, parts=parts, visiting=True) as hub:
        declared = {name: command.opens for command in hub.registry for name in (command.name,) if command.opens}
        keys = hub.registry.keys()
    assert declared == OPENS
    opened = {name for feature in FEATURES for name in feature.OPENS}
    assert set(declared.values()) <= opened
    app = Window()
    own = {key for kind in (AgentsFeature, ShellFeature) for key in app.part(kind).rows.own}
    own |= {key for rows in app.part(ContextFeature).rows.values() for key in rows.own}
    assert keys | own == {key for key, row in KEYS.items() if row.row}


if __name__ == "__main__":

    def at_a_terminal(form: CommandForm, given: dict[str, Any]) -> int:
        return asyncio.run(
            in_the_shell(DeclaredCall(Water, declared.values(form, given), json=given["as_json"]), Path.cwd())
        )

    raise SystemExit(declared.command(shell_form(Garden()), at_a_terminal).main(standalone_mode=False))
