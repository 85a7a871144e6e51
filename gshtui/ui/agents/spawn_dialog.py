"""The list of what a new agent can be, and the form for its task, where it works and how.

Owns the choices, the checks and the parameters of `spawn` that both return; starts nothing itself.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, cast, get_args

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Button, Input, Select, Static, TextArea

from gshtui.bus.agent_data import GuardMode
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.widgets.box import Box
from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice
from gshtui.ui.kit.widgets.line_field import LineField

if TYPE_CHECKING:
    from gshtui.agents.personas import Personas
    from gshtui.fleet.commands.host_commands import HostList
    from gshtui.fleet.commands.spawn_command import SpawnAgent
    from gshtui.programs.commands import ProfileList
    from gshtui.providers.model_command import ModelList

NATIVE, ANY = "native", "command"
"""The kinds besides profiles' names: our own agent, and any command line."""


class SpawnOptions(msgspec.Struct, frozen=True):
    """The choices, each a value and its label."""

    kinds: tuple[tuple[str, str], ...] = ((NATIVE, "Built-in agent"), (ANY, "Other program"))
    personas: tuple[tuple[str, str], ...] = ()
    models: tuple[str, ...] = ()
    programs: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """The command of each profile."""
    missing: frozenset[str] = frozenset()
    """Profiles whose programs are not installed."""
    hosts: tuple[str, ...] = ()
    """The other machines of the configuration."""
    accounts: tuple[str, ...] = ()
    """The accounts of the configuration."""


class SpawnForm(msgspec.Struct, frozen=True):
    """The values entered."""

    prompt: str = ""
    kind: str = NATIVE
    command: str = ""
    persona: str = ""
    model: str = ""
    name: str = ""
    worktree: str = ""
    background: bool = False
    host: str = ""
    """The machine that the program starts on; empty: this one."""
    acp: bool = False
    """The program is driven by the Agent Client Protocol, instead of on its screen."""
    mode: GuardMode | Literal[""] = ""
    """What it does unasked; empty: the setting's."""
    folder: str = ""
    """Where it starts; empty: in this window's folder."""
    account: str = ""


def speaks_acp(kind: str) -> bool:
    """Whether a program of this kind can be driven by the Agent Client Protocol; of a command line, nobody knows."""
    from gshtui.programs.acp.acp_commands import KNOWN

    return kind == ANY or kind in KNOWN


def spawn_options(
    personas: Personas | None,
    profiles: ProfileList | None,
    models: ModelList | None,
    which: Callable[[str], str | None] = shutil.which,
    hosts: HostList | None = None,
    accounts: Iterable[str] = (),
) -> SpawnOptions:
    """The choices, programs that are installed before those that are not; `None`: not available. `which`: the path of a
    command, or `None`.
    """
    from gshtui.text.sanitise import one_line

    programs = [one.profile for one in profiles.profiles if one.profile.programs] if profiles is not None else []
    commands = {one.name: next(filter(which, one.programs), "") for one in programs}
    titles = [(one.name, one.title or one.name) for one in programs]
    return SpawnOptions(
        kinds=(
            (NATIVE, "Built-in agent"),
            *((name, title) for name, title in titles if commands[name]),
            (ANY, "Other program"),
            *((name, title) for name, title in titles if not commands[name]),
        ),
        personas=tuple(
            (one.name, one_line(one.summary, 100)) for one in (personas.found.values() if personas is not None else ())
        ),
        models=tuple(
            f"{one.provider}/{one.model}"
            for one in (models.models if models is not None else ())
            if one.usable is not False
        ),
        programs={one.name: commands[one.name] or one.programs[0] for one in programs},
        missing=frozenset(name for name, command in commands.items() if not command),
        hosts=tuple(host.name for host in hosts.hosts) if hosts is not None else (),
        accounts=tuple(accounts),
    )


def form_problem(wish: SpawnForm, offers: SpawnOptions) -> tuple[str, str]:
    """The field that is wrong and why; both empty if the form is valid."""
    if wish.host and wish.worktree.strip():
        return "worktree", f"A worktree cannot be made on {wish.host}."
    if wish.host and wish.acp:
        return "acp", f"A program on {wish.host} is driven on its own screen."
    if wish.kind in offers.missing and not wish.host and not wish.command.strip() and not wish.acp:
        program = offers.programs[wish.kind]
        return "command", f"{program} is not on your PATH. Install it, or enter the command line that starts it."
    if wish.kind == ANY and not wish.command.strip():
        return "command", "Which program? Enter its command line, such as aider --no-git."
    if wish.background and not wish.prompt.strip():
        return "task", "A background agent needs a task."
    return "", ""


def spawn_parameters(wish: SpawnForm, programs: dict[str, str]) -> SpawnAgent:
    """The form as parameters of `spawn`. `programs`: the command of each profile."""
    from gshtui.fleet.commands.spawn_command import SpawnAgent

    persona = provider = model = cli = profile = acp = ""
    if wish.kind == NATIVE:
        # As models are listed: the provider, a slash, and the model, which may hold slashes of its own.
        provider, slash, model = wish.model.strip().partition("/")
        provider, model = (provider, model) if slash else ("", provider)
        persona = wish.persona
    elif wish.acp and speaks_acp(wish.kind):
        acp = wish.command.strip() or wish.kind
    elif wish.kind == ANY:
        cli = wish.command.strip()
    else:
        profile, cli = wish.kind, wish.command.strip() or programs.get(wish.kind, wish.kind)
    return SpawnAgent(
        prompt=wish.prompt.strip(),
        name=wish.name.strip(),
        persona=persona,
        provider=provider,
        model=model,
        cli=cli,
        acp=acp,
        profile=profile,
        worktree=wish.worktree.strip(),
        background=wish.background,
        host=wish.host,
        mode=wish.mode,
        cwd=wish.folder.strip(),
        account=wish.account,
    )


class SpawnList(Picker):
    """Returns what the new agent is, to be started at once, or to be filled in first: the answer's `by_form`.

    Words that nothing here has are its task, `wish`.
    """

    BINDINGS = [bind("spawn.form", "form")]

    def __init__(self, offers: SpawnOptions) -> None:
        own = [PickerChoice(NATIVE, "Built-in agent", "this window's model", group="Ours")]
        own += [PickerChoice(f"{NATIVE} {name}", name, summary, group="Ours") for name, summary in offers.personas]
        programs = [
            PickerChoice(
                name,
                title,
                "any command line" if name == ANY else f"{offers.programs[name]} in its own terminal",
                group="Not installed" if name in offers.missing else "Programs",
            )
            for name, title in offers.kinds
            if name != NATIVE
        ]
        hint = "{list.choose} to start · {spawn.form} for its task, worktree and more · {list.close} to cancel"
        super().__init__("New agent", [*own, *programs], empty="", hint=hint)
        self._offers = offers
        self._prompt = "Type to filter, or type a task"
        self.wish = ""
        self.by_form = False
        """The person wants to fill in the form first."""

    def fill(self) -> None:
        super().fill()
        self.wish = self.words.strip() if self.chosen is None and not self.key else ""
        if self.wish:
            self.show(self._rows([PickerChoice(NATIVE, "Built-in agent", f"begins with: {self.wish}")]), "")
            self.choices.highlighted = 0

    def choose(self, id: str) -> None:
        self.by_form = form_problem(form_of(id), self._offers) != ("", "")
        self.dismiss(id)

    def action_form(self) -> None:
        """Answer with the row that is highlighted, for the form."""
        self.by_form = True
        self.dismiss(self.chosen or NATIVE)


def form_of(chosen: str, task: str = "") -> SpawnForm:
    """The form for a row of the list."""
    kind, _, persona = chosen.partition(" ")
    return SpawnForm(prompt=task, kind=kind, persona=persona)


class SpawnScreen(Box["SpawnAgent | None"]):
    """Returns the parameters that start the agent (`ctrl+s`, from any field), or `None`.

    Args:
        form: what is filled in at first.
    """

    BINDINGS = [bind("form.submit", "submit"), bind("form.close", "dismiss(None)")]

    def __init__(self, offers: SpawnOptions, form: SpawnForm = SpawnForm()) -> None:  # noqa: B008 - frozen
        super().__init__()
        self._offers = offers
        self._first = form

    def compose(self) -> ComposeResult:
        offers = self._offers
        with Vertical(classes="dialog -form"):
            yield Static(Content("New agent"), classes="dialog-title")
            yield TextArea(self._first.prompt, id="task", compact=True, placeholder="Task")
            kinds = [
                (f"{shown} · not installed" if value in offers.missing else shown, value)
                for value, shown in offers.kinds
            ]
            yield _row("Program", Select(kinds, value=self._first.kind, allow_blank=False, id="kind", compact=True))
            personas = [("none", ""), *((f"{name} · {summary}", name) for name, summary in offers.personas)]
            hosts = [("this machine", ""), *((name, name) for name in offers.hosts)]
            machine = _row("Machine", Select(hosts, value="", allow_blank=False, id="host", compact=True))
            machine.display = bool(offers.hosts)
            yield machine
            yield _row(
                "Persona", Select(personas, value=self._first.persona, allow_blank=False, id="persona", compact=True)
            )
            models = SuggestFromList(offers.models, case_sensitive=False)
            yield _row("Model", LineField(placeholder="default", id="model", suggester=models))
            yield _row("Command", LineField(placeholder="command line", id="command"))
            ways = [("on its own screen", ""), ("by the Agent Client Protocol (ACP), without its screen", "yes")]
            yield _row("Driven", Select(ways, value="", allow_blank=False, id="acp", compact=True))
            yield _row("Name", LineField(placeholder="chosen automatically", id="name"))
            branch = LineField(placeholder="None. Enter a branch name to create a worktree", id="worktree")
            yield _row("Worktree", branch)
            yield _row("Folder", LineField(placeholder="this one", id="folder"))
            modes = [("default", ""), *((mode, mode) for mode in get_args(GuardMode))]
            yield _row("Mode", Select(modes, value="", allow_blank=False, id="mode", compact=True))
            accounts = [("yours", ""), *((name, name) for name in offers.accounts)]
            account = _row("Account", Select(accounts, value="", allow_blank=False, id="account", compact=True))
            account.display = bool(offers.accounts)
            yield account
            reports = [("keep the result in its tab", ""), ("report to the conversation (background)", "yes")]
            yield _row("When done", Select(reports, value="", allow_blank=False, id="background", compact=True))
            yield Static("", markup=False, classes="dialog-wrong")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Start (ctrl+s)", id="start", variant="primary", compact=True)
                yield Button("Cancel (escape)", id="close", compact=True)

    def on_mount(self) -> None:
        self._fit()
        missing, _ = form_problem(self._first, self._offers)
        self.query_one(f"#{missing or 'task'}").focus()

    @property
    def form(self) -> SpawnForm:
        """The values entered so far."""
        return SpawnForm(
            prompt=self.query_one("#task", TextArea).text,
            kind=self._chosen("kind"),
            command=self.query_one("#command", Input).value,
            persona=self._chosen("persona"),
            model=self.query_one("#model", Input).value,
            name=self.query_one("#name", Input).value,
            worktree=self.query_one("#worktree", Input).value,
            background=bool(self._chosen("background")),
            host=self._chosen("host"),
            acp=bool(self._chosen("acp")) and speaks_acp(self._chosen("kind")),
            mode=cast("GuardMode", self._chosen("mode")),
            folder=self.query_one("#folder", Input).value,
            account=self._chosen("account"),
        )

    def _chosen(self, id: str) -> str:
        field = cast("Select[str]", self.query_one(f"#{id}", Select))
        return field.value if isinstance(field.value, str) else ""

    @on(Select.Changed, "#kind")
    def _fit(self) -> None:
        """Show the fields that apply to this kind."""
        kind = self._chosen("kind")
        native = kind == NATIVE
        rows = {"persona": native, "model": native, "command": not native, "acp": not native and speaks_acp(kind)}
        for name, shown in rows.items():
            row = self.query_one(f"#{name}").parent
            assert isinstance(row, Widget)
            row.display = shown
        command = self.query_one("#command", Input)
        command.placeholder = "command line" if kind == ANY else self._offers.programs.get(kind, "")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "start":
            self.action_submit()
        else:
            self.dismiss(None)

    def action_submit(self) -> None:
        """Show what is wrong, or return the form."""
        wish = self.form
        field, why = form_problem(wish, self._offers)
        self.query_one(".dialog-wrong", Static).update(Content(why))
        if field:
            self.query_one(f"#{field}").focus()
        else:
            self.dismiss(spawn_parameters(wish, self._offers.programs))


def _row(label: str, field: Widget) -> Horizontal:
    return Horizontal(Static(Content(label), classes="form-label"), field, classes="form-row")
