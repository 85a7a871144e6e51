"""What the command `mcp` prints, and gives to scripts; how a person writes a server, and a configuration holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gshtui.commands.declaration import Invocation, Outcome, UsageError
from gshtui.guard.secrets.child_environment import is_secret_variable
from gshtui.mcp_client import mcp_calls as calls
from gshtui.mcp_client.mcp_calls import AddServer
from gshtui.mcp_client.server_tools import SEPARATOR
from gshtui.settings.setting_values import looks_secret
from gshtui.text import markdown_table
from gshtui.text.sanitise import literal, one_line
from gshtui.text.units import counted


def written_values(wanted: AddServer) -> dict[str, Any]:
    """A server's table. Raises `UsageError`."""
    if not wanted.argv:
        raise UsageError("mcp add: the command or the address is missing.", hint="mcp add git uvx mcp-server-git")
    if wanted.argv[0].startswith("-"):
        raise UsageError(f"mcp add: there is no option {one_line(literal(wanted.argv[0]), 40)}.")
    is_address = len(wanted.argv) == 1 and wanted.argv[0].startswith(("http://", "https://"))
    values: dict[str, Any] = (
        {"url": wanted.argv[0]} if is_address else {"command": wanted.argv[0], "args": wanted.argv[1:]}
    )
    values["env"] = _pairs(wanted.env, "variable")
    values["headers"] = _pairs(wanted.header, "header")
    values["cwd"], values["hosts"], values["writable"] = wanted.cwd, wanted.host, wanted.writable
    if wanted.outside:
        values["sandbox"] = False
    if secret := next((word for word in wanted.argv if looks_secret(word)), ""):
        raise UsageError(
            f"An argument is a key ({secret[:4]}…), which the configuration must not hold.",
            hint="Write ${NAME} in its place, and put the key into that variable.",
        )
    return {name: value for name, value in values.items() if value or value is False}


def _pairs(words: list[str], kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"A {kind} is written as NAME=VALUE.")
        if "${" not in value and (is_secret_variable(name, value) or name.strip().lower() == "authorization"):
            raise UsageError(
                f"The {kind} {name[:40]} looks like a secret, which the configuration must not hold.",
                hint=f"Write {name.strip()[:40]}='${{NAME}}', and put the secret into that variable.",
            )
        found[name.strip()] = value
    return found


_TOOLS_SHOWN = 200


def render_list(_invocation: Invocation, found: calls.ServerList) -> Outcome:
    data = [_row_data(row) for row in found.rows]
    left = left_out(found.untrusted)
    in_a_shell = left.replace("`config", "`gsh-tui config")
    if not found.rows:
        none = "No MCP servers yet. `mcp add NAME COMMAND…` adds one, `mcp import` takes those of other programs."
        return Outcome(data, left or none, plain=in_a_shell)
    rows = [
        (
            row.definition.name,
            "; ".join((one_line(literal(row.status), 60), *(f"{agent}: {state}" for agent, state in row.elsewhere))),
            str(len(row.pins.accepted)) if row.is_known else "?",
            row.definition.source,
            one_line(literal(row.definition.line), 60),
        )
        for row in found.rows
    ]
    table = markdown_table.table(("name", "state", "tools", "from", "command or address"), rows)
    if not left:
        return Outcome(data, table, plain=markdown_table.bare_columns(table))
    return Outcome(data, f"{table}\n\n{left}", plain=f"{markdown_table.bare_columns(table)}\n\n{in_a_shell}")


def left_out(files: Sequence[str]) -> str:
    """That servers of the project's files are not used yet, as a sentence; empty: none."""
    if not files:
        return ""
    names = ", ".join(one_line(literal(file), 60) for file in files)
    return f"The servers of {names} are used once you trust this folder: `config trust`."


def render_registry(_invocation: Invocation, found: calls.RegistryList) -> Outcome:
    data = [{"name": one.name, "version": one.version, "about": one.about, "ways": one.ways} for one in found.servers]
    if not found.servers:
        return Outcome(data, f"The registry has no server whose name contains {one_line(literal(found.word), 60)!r}.")
    rows = [tuple(literal(text) for text in (one.name, one.version, one.ways, one.about)) for one in found.servers]
    table = markdown_table.table(("name", "version", "comes as", "what it is"), rows)
    hint = "`mcp add NAME` shows what one would run, and adds it."
    return Outcome(data, f"{table}\n\n{hint}", plain=markdown_table.bare_columns(table))


def _row_data(row: calls.ServerRow) -> dict[str, Any]:
    return {
        "name": row.definition.name,
        "state": row.state,
        "status": row.status,
        "why": row.why,
        "elsewhere": [{"agent": agent, "state": state} for agent, state in row.elsewhere],
        "enabled": row.definition.settings.enabled,
        "brought": row.definition.brought,
        "accepted": row.agreed,
        "line": row.definition.line,
        "tools": len(row.pins.accepted) if row.is_known else None,
        "changed": len(row.pins.changed) if row.is_known else 0,
    }


def render_details(_invocation: Invocation, found: calls.ServerDetails) -> Outcome:
    row = found.row
    settings = row.definition.settings
    pins = row.pins.accepted if row.is_known else ()
    tools = [{"name": f"{row.definition.name}{SEPARATOR}{pin.name}", "description": pin.description} for pin in pins]
    data = {**_row_data(row), "settings": settings.model_dump(mode="json"), "origin": found.origin, "offered": tools}
    lines = [f"{row.definition.name} · {one_line(literal(row.status), 200)} · {found.origin}", ""]
    lines += [
        f"- {name} = {one_line(literal(str(value)), 300)}" for name, value in settings if value not in ("", [], {})
    ]
    if not row.is_known:
        lines += ["", f"Its tools are not known yet. `mcp doctor {row.definition.name}` starts it."]
    elif tools:
        lines += ["", f"{counted(len(tools), 'tool')}:"]
        lines += [f"- `{one['name']}`: {one['description']}" for one in tools[:_TOOLS_SHOWN]]
    if row.is_known and row.pins.changed:
        names = ", ".join(pin.name for pin in row.pins.changed[:20])
        lines += ["", f"It changed {names}; `mcp accept {row.definition.name}` shows how."]
    return Outcome(data, "\n".join(lines))


def render_changed(_invocation: Invocation, changed: calls.ChangedServer) -> Outcome:
    data = {"name": changed.name, "file": str(changed.file), "values": changed.values}
    if changed.done.startswith("Removed"):
        return Outcome(data, f"{changed.done} It was: {one_line(literal(str(changed.values)), 2_000)}")
    return Outcome(data, changed.done)


def render_imported(_invocation: Invocation, done: calls.ImportedServers) -> Outcome:
    data = {
        "added": [
            {"name": one.name, "source": one.source, "values": one.values, "notes": one.notes} for one in done.added
        ],
        "skipped": list(done.skipped),
    }
    lines = [f"- {one.name}, from {one.source}" for one in done.added]
    lines += [f"  {note}" for one in done.added for note in one.notes]
    head = f"Added {counted(len(done.added), 'server')}:" if done.added else "Nothing was added."
    text = "\n".join([head, *lines, *(f"- {one_line(literal(why), 300)}" for why in done.skipped)])
    return Outcome(data, text)


def render_checks(_invocation: Invocation, found: calls.ServerChecks) -> Outcome:
    data = [{"name": one.name, "ok": one.ok, "lines": list(one.lines)} for one in found.checks]
    if not found.checks:
        return Outcome(data, "No MCP servers to check.")
    lines: list[str] = []
    for one in found.checks:
        lines.append(f"{'✓' if one.ok else '✗'} {one.name}")
        lines += [f"  - {one_line(literal(line), 400)}" for line in one.lines]
    return Outcome(data, "\n".join(lines), is_error=not all(one.ok for one in found.checks))


def render_resources(_invocation: Invocation, found: calls.ResourceList) -> Outcome:
    data = [{"server": one.server, "uri": one.uri, "about": one.about} for one in found.resources]
    lines = [f"- `@{one.server}:{one.uri}` {one.about}".rstrip() for one in found.resources]
    return Outcome(data, "\n".join(lines) or "No resources.")


def render_answer(_invocation: Invocation, answer: calls.ServerAnswer) -> Outcome:
    return Outcome({"name": answer.name, "done": answer.done}, answer.done)
