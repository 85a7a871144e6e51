"""The form of a question that asks for values: a field for each, checked against its schema before it is sent.

Labels and choices come from a server and are shown as plain text. Returns the values; sends nothing itself.
"""

from __future__ import annotations

from typing import Any, cast

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.signal import Signal
from textual.widget import Widget
from textual.widgets import Button, Input, Select, Static

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.mcp_client.elicitations import FieldError, checked_values, field_choices, field_hint, field_title
from gshtui.mcp_client.server_requests import Elicitation
from gshtui.system.json_types import is_array, obj
from gshtui.text.sanitise import literal, one_line
from gshtui.ui.approvals.approvals_state import asked_fields
from gshtui.ui.kit.widgets.dialogs import FormScreen
from gshtui.ui.kit.widgets.line_field import LineField

_MOST = 40
"""Fields that are shown."""


class ValuesForm(FormScreen[dict[str, Any]]):
    """See the module. Returns the values, or `None`."""

    def __init__(self, request: ApprovalRequested) -> None:
        super().__init__()
        fields = dict(list(asked_fields(request).items())[:_MOST])
        required = cast("list[object]", request.arguments.get("required") or [])
        self._asked = Elicitation(request.subject, fields, tuple(str(name) for name in required if name in fields))
        self._fields = {name: _field(number, schema) for number, (name, schema) in enumerate(fields.items())}
        self._wrong = Static("", markup=False, classes="dialog-wrong")

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -form -values"):
            yield Static(Content(_line(self._asked.message, 400)), classes="dialog-title")
            with VerticalScroll(classes="form-fields", can_focus=False):
                for name, schema in self._asked.fields.items():
                    told = obj(schema)
                    mark = " *" if name in self._asked.required else ""
                    label = Static(Content(_line(field_title(name, schema), 24) + mark), classes="form-label")
                    yield Horizontal(label, self._fields[name], classes="form-row")
                    if about := _line(told.get("description"), 300):
                        yield Static(Content.styled(about, "$foreground-muted"), classes="form-about")
            yield self._wrong
            hint = "* is needed · tab for the next field\nThe server gets exactly these values; give it no password."
            yield Static(Content(hint), classes="dialog-hint")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Send (ctrl+s)", id="send", variant="primary", compact=True)
                yield Button("Cancel (escape)", id="close", compact=True)

    def on_mount(self) -> None:
        next(iter(self._fields.values())).focus()
        laid_out = cast("Signal[object]", self.screen_layout_refresh_signal)  # pyright: ignore[reportUnknownMemberType]
        laid_out.subscribe(self, self._fit)

    def _fit(self, _screen: object) -> None:
        """Scroll the fields where there is no room for all of them: what is around them stays in sight."""
        dialog, fields = self.query_one(".dialog"), self.query_one(".form-fields")
        others = [one.outer_size.height + one.styles.margin.height for one in dialog.children if one is not fields]
        fields.styles.max_height = max(2, self.size.height - dialog.gutter.height - sum(others))

    def action_submit(self) -> None:
        """Return the values, or say what is wrong with one."""
        try:
            self.dismiss(checked_values(self._asked, {name: _value(field) for name, field in self._fields.items()}))
        except FieldError as error:
            self._wrong.update(Content(error.message))
            self._fields[error.field].focus()


def _field(number: int, schema: object) -> Widget:
    """The widget for a value, with its default."""
    told = obj(schema)
    default: object = told.get("default")
    choices = field_choices(schema)
    id = f"value-{number}"
    if told.get("type") == "boolean":
        answers = (("yes", "yes"), ("no", "no"))
        return Select(answers, value="yes" if default else "no", allow_blank=False, id=id, compact=True)
    if choices and told.get("type") != "array":
        options = [(_line(title, 60), value) for value, title in choices]
        start = str(default) if any(str(default) == value for _, value in options) else Select.NULL
        return Select(options, value=start, id=id, prompt="choose", compact=True)
    text = ", ".join(map(str, default)) if is_array(default) else _line(default, 1_000)
    offered = ", ".join(value for value, _ in choices)
    placeholder = f"any of {offered}" if offered else field_hint(schema)
    return LineField(text, placeholder=_line(placeholder, 100), id=id)


def _value(field: Widget) -> object:
    match field:
        case Select():
            return None if field.is_blank() else cast("object", field.value)
        case Input():
            return field.value.strip()
        case _:
            return None


def _line(text: object, most: int) -> str:
    return one_line(literal(str(text)), most) if text not in (None, "") else ""
