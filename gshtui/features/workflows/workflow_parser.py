"""Reads workflows from YAML, and checks them whole before anything runs.

Every error names the file and the line. Unknown fields, keys given twice, anchors, aliases and tags are refused.
"""

from __future__ import annotations

import graphlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from msgspec.structs import replace

from gshtui.bus.workflow_data import WorkflowSource
from gshtui.features.workflows import templates
from gshtui.features.workflows.definition import (
    MOST_BYTES,
    Action,
    LlmAction,
    OnFailure,
    Parameter,
    PythonAction,
    Retry,
    ShellAction,
    Template,
    ToolAction,
    Value,
    Workflow,
    WorkflowError,
    WorkflowStep,
    templates_in,
)
from gshtui.features.workflows.parameters import parameter_value
from gshtui.features.workflows.templates import TemplateError
from gshtui.text.plain_name import similar_names
from gshtui.text.sanitise import one_line

MOST_STEPS = 200
_DEEPEST = 12
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_RESERVED = frozenset(("json", "yes", "mode", "set", "help", "provider", "model", "agent", "timeout", "args"))
"""Options of `workflow run` itself."""
_RESULT = frozenset(
    ("stdout", "stderr", "exit_code", "started_at", "ended_at", "duration_ms", "artifacts", "state", "skipped")
)
_SAID = {
    "mapping values are not allowed here": "a value that contains `: ` must be in quotes; several lines of a command"
    " need `command: |`",
    "could not find expected ':'": "it is not of the form `key: value`; several lines of a command need `command: |`",
}

T = TypeVar("T")


class _Reader:
    """The nodes of one file. `line`: of every fault, where the text is not as it is in the file; 0: of the node."""

    def __init__(self, file: Path, line: int = 0) -> None:
        self.file = file
        self.line = line

    def error(self, node: yaml.Node | int, said: str) -> WorkflowError:
        line = self.line or (node if isinstance(node, int) else node.start_mark.line + 1)
        return WorkflowError(f"{self.file}, line {line}: {said}.")

    def mapping(self, node: yaml.Node, what: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Keys with the nodes of key and value."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"{what} must be a mapping of `key: value`")
        found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            name = self.text(key, "a key")
            if name in found:
                raise self.error(key, f"{one_line(name, 60)!r} is given twice")
            found[name] = (key, value)
        return found

    def sequence(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, f"{what} must be a list")
        return cast("list[yaml.Node]", node.value)

    def text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, f"{what} must be a text")
        return str(node.value)

    def template(self, node: yaml.Node, what: str) -> Template:
        # The text of a block begins on the line below its sign.
        block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
        return Template(self.text(node, what), node.start_mark.line + 1 + block)

    def plain(self, node: yaml.Node, what: str) -> Value:
        """A scalar with its type."""
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, f"{what} must be a single value")
        if node.style in ("'", '"', "|", ">"):
            return str(node.value)
        value: Any = yaml.safe_load(str(node.value))
        return value if isinstance(value, str | bool | int | float) or value is None else str(node.value)

    def choice(self, node: yaml.Node, what: str, choices: tuple[str, ...]) -> str:
        said = self.text(node, what)
        if said not in choices:
            raise self.error(node, f"{what} is {one_line(said, 60)!r}, but must be one of {', '.join(choices)}")
        return said

    def flag(self, node: yaml.Node, what: str) -> bool:
        value = self.plain(node, what)
        if not isinstance(value, bool):
            raise self.error(node, f"{what} must be true or false")
        return value

    def amount(self, node: yaml.Node, what: str, low: float, high: float) -> float:
        value = self.plain(node, what)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.error(node, f"{what} must be a number from {low:g} to {high:g}")
        return float(value)

    def fields(self, node: yaml.Node, what: str, known: tuple[str, ...]) -> dict[str, yaml.Node]:
        """The values of a mapping that has no other keys."""
        found = self.mapping(node, what)
        for name, (key, _) in found.items():
            if name not in known:
                near = similar_names(name, known, most=1)
                hint = f"did you mean {near[0]!r}" if near else f"there are {', '.join(known)}"
                raise self.error(key, f"{what} has no field {one_line(name, 60)!r}; {hint}")
        return {name: value for name, (_, value) in found.items()}

    def value(self, node: yaml.Node, depth: int = 0) -> object:
        """Any value, whose texts become templates."""
        if depth > _DEEPEST:
            raise self.error(node, "it is nested too deeply")
        if isinstance(node, yaml.MappingNode):
            return {name: self.value(value, depth + 1) for name, (_, value) in self.mapping(node, "it").items()}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(each, depth + 1) for each in self.sequence(node, "it")]
        plain = self.plain(node, "it")
        return self.template(node, "it") if isinstance(plain, str) else plain


def read_table(file: Path, name: str, table: object, line: int, source: WorkflowSource = "yours") -> Workflow:
    """A workflow of a configuration in TOML, `[workflows.NAME]`; it is kept as YAML. Raises `WorkflowError`. `line`:
    where the table begins, which every fault names.
    """
    try:
        text = yaml.dump({"workflows": {name: table}}, Dumper=_Plain, sort_keys=False, allow_unicode=True)
    except (yaml.YAMLError, RecursionError) as error:
        raise WorkflowError(f"{file}, line {line}: the workflow {one_line(name, 60)} cannot be read.") from error
    return replace(read_workflows(file, text.encode("utf-8", "replace"), source, line)[name], line=line)


class _Plain(yaml.SafeDumper):
    """Without anchors, which workflows must not have."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def read_workflows(file: Path, raw: bytes, source: WorkflowSource = "yours", line: int = 0) -> dict[str, Workflow]:
    """The workflows of a file, by name. Raises `WorkflowError`. `line`: of every fault, where `raw` is not as it is in
    the file.
    """
    reader = _Reader(file, line)
    if len(raw) > MOST_BYTES:
        raise WorkflowError(f"{file} has {len(raw):,} bytes; the limit for a file of workflows is {MOST_BYTES:,}.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise WorkflowError(f"{file} is not UTF-8 text.") from None
    root = _composed(reader, text)
    if root is None:
        return {}
    top = reader.fields(root, "the file", ("workflows",))
    if "workflows" not in top:
        raise reader.error(root, "there is no `workflows:`")
    found: dict[str, Workflow] = {}
    for name, (key, node) in reader.mapping(top["workflows"], "`workflows`").items():
        if not _NAME.fullmatch(name):
            raise reader.error(key, f"the name {one_line(name, 60)!r} must consist of a-z, 0-9, - and _")
        found[name] = _workflow(reader, name, key, node, source, text)
    return found


def _composed(reader: _Reader, text: str) -> yaml.Node | None:
    try:
        depth = 0
        for event in cast("Iterator[yaml.Event]", yaml.parse(text, Loader=yaml.SafeLoader)):  # pyright: ignore[reportUnknownMemberType]
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                said = "anchors, aliases and tags are not read; a value that begins with & * or ! must be in quotes"
                raise reader.error(event.start_mark.line + 1, said)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > 2 * _DEEPEST:
                raise reader.error(event.start_mark.line + 1, "it is nested too deeply")
        return cast("yaml.Node | None", yaml.compose(text, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = one_line(_SAID.get(str(error.problem), str(error.problem)), 200)
        raise reader.error(mark.line + 1 if mark else 1, f"it is no YAML: {said}") from None
    except yaml.YAMLError as error:
        raise reader.error(1, f"it is no YAML: {one_line(str(error), 200)}") from None
    except RecursionError:
        raise reader.error(1, "it is nested too deeply") from None


def _workflow(
    reader: _Reader, name: str, key: yaml.Node, node: yaml.Node, source: WorkflowSource, text: str
) -> Workflow:
    fields = reader.fields(node, f"the workflow {name}", ("description", "parameters", "steps"))
    description = reader.text(fields["description"], "`description`") if "description" in fields else ""
    parameters: dict[str, Parameter] = {}
    if "parameters" in fields:
        for each, (where, value) in reader.mapping(fields["parameters"], "`parameters`").items():
            parameters[each] = _parameter(reader, each, where, value)
    if "steps" not in fields:
        raise reader.error(node, f"the workflow {name} has no `steps`")
    nodes = reader.sequence(fields["steps"], "`steps`")
    if not 0 < len(nodes) <= MOST_STEPS:
        raise reader.error(fields["steps"], f"a workflow has from 1 to {MOST_STEPS} steps")
    drafts = [_step(reader, number, each) for number, each in enumerate(nodes, 1)]
    steps = _connected(reader, [(step, needs) for step, needs in drafts])
    workflow = Workflow(
        name, parameters, steps, reader.file, key.start_mark.line + 1, one_line(description, 300), source, text
    )
    for step in steps:
        _check_references(reader, workflow, step)
    return workflow


def _parameter(reader: _Reader, name: str, key: yaml.Node, node: yaml.Node) -> Parameter:
    if not _PARAMETER.fullmatch(name) or name in _RESERVED:
        why = "is an option of `workflow run` itself" if name in _RESERVED else "must consist of letters, 0-9 and _"
        raise reader.error(key, f"the parameter name {one_line(name, 60)!r} {why}")
    fields = reader.fields(node, f"the parameter {name}", ("type", "default", "required", "help", "choices"))
    if "type" not in fields:
        raise reader.error(node, f"the parameter {name} has no `type`")
    kind = reader.choice(fields["type"], "`type`", ("string", "bool", "int", "float", "enum"))
    choices: tuple[str, ...] = ()
    if "choices" in fields:
        choices = tuple(reader.text(each, "a choice") for each in reader.sequence(fields["choices"], "`choices`"))
    if (kind == "enum") != bool(choices):
        raise reader.error(node, f"`choices` belong to the type enum, and it needs them: {name}")
    parameter = Parameter(
        name,
        cast("Any", kind),
        None,
        reader.flag(fields["required"], "`required`") if "required" in fields else False,
        one_line(reader.text(fields["help"], "`help`"), 200) if "help" in fields else "",
        choices,
    )
    default = reader.plain(fields["default"], "`default`") if "default" in fields else None
    if default is None:
        return parameter
    try:
        value = parameter_value(parameter, default)
    except ValueError as error:
        raise reader.error(fields["default"], f"the default of {name}: {error}") from None
    return Parameter(name, parameter.type, value, False, parameter.help, choices)


_STEP = (
    *("id", "description", "when", "timeout_seconds", "on_failure", "retry", "artifacts", "needs"),
    *("shell", "llm", "tool", "python"),
)


def _step(reader: _Reader, number: int, node: yaml.Node) -> tuple[WorkflowStep, list[tuple[str, yaml.Node]] | None]:
    """A step, and what it names in `needs`; `None`: it waits for all before it."""
    fields = reader.fields(node, f"step {number}", _STEP)
    kinds = [kind for kind in ("shell", "llm", "tool", "python") if kind in fields]
    if len(kinds) != 1:
        raise reader.error(node, f"step {number} must be exactly one of shell, llm, tool and python")
    action = _ACTIONS[kinds[0]](reader, fields[kinds[0]])
    name = reader.text(fields["id"], "`id`") if "id" in fields else ""
    if "id" in fields and not _ID.fullmatch(name):
        raise reader.error(fields["id"], f"the id {one_line(name, 60)!r} must consist of letters, 0-9, - and _")
    needs = None
    if "needs" in fields:
        needs = [(reader.text(each, "`needs`"), each) for each in reader.sequence(fields["needs"], "`needs`")]
    failure = "exit"
    if "on_failure" in fields:
        failure = reader.choice(fields["on_failure"], "`on_failure`", ("exit", "continue", "ask", "retry"))
    if "retry" in fields and failure != "retry":
        raise reader.error(fields["retry"], "`retry` only counts with `on_failure: retry`")
    artifacts: tuple[str, ...] = ()
    if "artifacts" in fields:
        artifacts = tuple(reader.text(each, "a pattern") for each in reader.sequence(fields["artifacts"], "it"))
    step = WorkflowStep(
        number=number,
        action=action,
        line=node.start_mark.line + 1,
        id=name,
        description=one_line(reader.text(fields["description"], "it"), 200) if "description" in fields else "",
        when=_optional(fields, "when", lambda each: reader.template(each, "`when`")),
        timeout_seconds=_optional(fields, "timeout_seconds", lambda each: reader.template(each, "it")),
        on_failure=cast("OnFailure", failure),
        retry=_retry(reader, fields["retry"]) if "retry" in fields else Retry(),
        artifacts=artifacts,
    )
    return step, needs


def _optional(fields: dict[str, yaml.Node], name: str, read: Callable[[yaml.Node], T]) -> T | None:
    return read(fields[name]) if name in fields else None


def _retry(reader: _Reader, node: yaml.Node) -> Retry:
    fields = reader.fields(node, "`retry`", ("max", "backoff"))
    backoff = (
        reader.fields(fields["backoff"], "`backoff`", ("base_ms", "factor", "jitter_ms")) if "backoff" in fields else {}
    )
    most = int(reader.amount(fields["max"], "`max`", 1, 20)) if "max" in fields else 2

    def amount(name: str, default: float, low: float, high: float) -> float:
        return reader.amount(backoff[name], f"`{name}`", low, high) if name in backoff else default

    return Retry(
        most,
        int(amount("base_ms", 500, 0, 600_000)),
        amount("factor", 2.0, 1, 10),
        int(amount("jitter_ms", 250, 0, 60_000)),
    )


def _environment(reader: _Reader, node: yaml.Node | None) -> dict[str, Template]:
    found: dict[str, Template] = {}
    if node is None:
        return found
    for name, (key, value) in reader.mapping(node, "`env`").items():
        if not _VARIABLE.fullmatch(name):
            raise reader.error(key, f"{one_line(name, 60)!r} is no name of a variable")
        found[name] = reader.template(value, f"the variable {name}")
    return found


def _shell(reader: _Reader, node: yaml.Node) -> Action:
    fields = reader.fields(node, "`shell`", ("command", "shell", "cwd", "env", "stdin", "terminal"))
    if "command" not in fields:
        raise reader.error(node, "`shell` has no `command`")
    program = reader.choice(fields["shell"], "`shell`", ("bash", "sh", "zsh")) if "shell" in fields else "bash"
    action = ShellAction(
        reader.template(fields["command"], "`command`"),
        cast("Any", program),
        _optional(fields, "cwd", lambda each: reader.template(each, "`cwd`")),
        _environment(reader, fields.get("env")),
        _optional(fields, "stdin", lambda each: reader.template(each, "`stdin`")),
        reader.flag(fields["terminal"], "`terminal`") if "terminal" in fields else False,
    )
    if action.terminal and action.stdin is not None:
        raise reader.error(node, "a step with `terminal` reads the terminal, so it can have no `stdin`")
    return action


def _python(reader: _Reader, node: yaml.Node) -> Action:
    fields = reader.fields(node, "`python`", ("code", "module", "env", "stdin"))
    if ("code" in fields) == ("module" in fields):
        raise reader.error(node, "`python` needs either `code` or `module`")
    module = reader.text(fields["module"], "`module`") if "module" in fields else ""
    if "module" in fields and not all(part.isidentifier() for part in module.split(".")):
        raise reader.error(fields["module"], f"{one_line(module, 60)!r} is no name of a module")
    code = reader.text(fields["code"], "`code`") if "code" in fields else ""
    if code:
        try:
            compile(code, str(reader.file), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            line = reader.template(fields["code"], "`code`").line + (getattr(error, "lineno", 1) or 1) - 1
            raise reader.error(line, f"the code is not Python: {getattr(error, 'msg', error)}") from None
        except (RecursionError, MemoryError):
            raise reader.error(fields["code"], "the code is nested too deeply") from None
    return PythonAction(
        code,
        module,
        _environment(reader, fields.get("env")),
        _optional(fields, "stdin", lambda each: reader.template(each, "`stdin`")),
    )


def _tool(reader: _Reader, node: yaml.Node) -> Action:
    fields = reader.fields(node, "`tool`", ("server", "name", "args"))
    if "name" not in fields:
        raise reader.error(node, "`tool` has no `name`")
    args: dict[str, object] = {}
    if "args" in fields:
        args = {name: reader.value(value) for name, (_, value) in reader.mapping(fields["args"], "`args`").items()}
    server = reader.text(fields["server"], "`server`") if "server" in fields else ""
    return ToolAction(reader.text(fields["name"], "`name`"), server, args)


def _llm(reader: _Reader, node: yaml.Node) -> Action:
    known = ("agent", "prompt", "provider", "model", "tools", "terminal", "worktree")
    fields = reader.fields(node, "`llm`", known)
    if "prompt" not in fields:
        raise reader.error(node, "`llm` has no `prompt`")
    if isinstance(fields["prompt"], yaml.MappingNode):
        prompt = reader.fields(fields["prompt"], "`prompt`", ("user", "system"))
        if "user" not in prompt:
            raise reader.error(fields["prompt"], "`prompt` has no `user`")
        user = reader.template(prompt["user"], "`user`")
        system = _optional(prompt, "system", lambda each: reader.template(each, "`system`"))
    else:
        user, system = reader.template(fields["prompt"], "`prompt`"), None
    named = {
        name: reader.text(fields[name], f"`{name}`") if name in fields else ""
        for name in ("agent", "provider", "model")
    }
    action = LlmAction(
        user,
        system,
        named["agent"],
        named["provider"],
        named["model"],
        reader.flag(fields["tools"], "`tools`") if "tools" in fields else False,
        reader.flag(fields["terminal"], "`terminal`") if "terminal" in fields else "worktree" in fields,
        _optional(fields, "worktree", lambda each: reader.template(each, "`worktree`")),
    )
    if action.worktree is not None and not action.terminal:
        raise reader.error(node, "only an agent in a terminal has a worktree; `terminal` must not be false")
    return action


_ACTIONS: dict[str, Callable[[_Reader, yaml.Node], Action]] = {
    "shell": _shell,
    "python": _python,
    "tool": _tool,
    "llm": _llm,
}


def _connected(
    reader: _Reader, drafts: list[tuple[WorkflowStep, list[tuple[str, yaml.Node]] | None]]
) -> tuple[WorkflowStep, ...]:
    """The steps with the numbers of those that each waits for. Raises `WorkflowError`: twice an id, or a circle."""
    ids: dict[str, int] = {}
    for step, _ in drafts:
        if step.id and step.id in ids:
            raise reader.error(step.line, f"the id {step.id!r} is that of step {ids[step.id]}, too")
        ids |= {step.id: step.number} if step.id else {}
    needed: dict[int, frozenset[int]] = {}
    for step, needs in drafts:
        if needs is None:
            needed[step.number] = frozenset(range(1, step.number))
            continue
        numbers: set[int] = set()
        for word, node in needs:
            number = ids.get(word, int(word) if word.isdecimal() and 0 < int(word) <= len(drafts) else 0)
            if not number:
                raise reader.error(node, f"`needs` names {one_line(word, 60)!r}, which is no step's id or number")
            numbers.add(number)
        needed[step.number] = frozenset(numbers)
    try:
        order = tuple(graphlib.TopologicalSorter(needed).static_order())
    except graphlib.CycleError as error:
        circle = [drafts[number - 1][0] for number in cast("list[int]", error.args[1])]
        raise reader.error(
            circle[0].line,
            "these steps wait for each other: " + " → ".join(step.id or str(step.number) for step in circle),
        ) from None
    before: dict[int, frozenset[int]] = {}
    for number in order:
        before[number] = needed[number].union(*(before[each] for each in needed[number]))
    return tuple(replace(step, needs=before[step.number]) for step, _ in drafts)


def _check_references(reader: _Reader, workflow: Workflow, step: WorkflowStep) -> None:
    """Raise `WorkflowError` where a template is not valid or names what is not there when its step begins."""
    used = [*templates_in({name: getattr(step.action, name) for name in step.action.__struct_fields__})]
    checks = [(template, False) for template in used]
    checks += [(step.when, True)] if step.when is not None else []
    if step.timeout_seconds is not None:
        text = step.timeout_seconds.text
        checks.append((Template(text if "{{" in text else f"{{{{ {text} }}}}", step.timeout_seconds.line), False))
    for template, condition in checks:
        try:
            found = templates.references(template, condition=condition)
        except TemplateError as error:
            raise reader.error(error.line or step.line, f"the template of {step.name!r}: {error}") from None
        for reference in found:
            if said := _missing(workflow, step, reference.parts):
                raise reader.error(reference.line, said)


def _missing(workflow: Workflow, step: WorkflowStep, parts: tuple[object, ...]) -> str:
    """What is wrong with a variable; empty: nothing."""
    root, rest = str(parts[0]), parts[1:]
    if root not in templates.ROOTS:
        return f"there is no {one_line(root, 60)!r}; templates know {', '.join(sorted(templates.ROOTS))}"
    if root == "agent" and not isinstance(step.action, LlmAction):
        return "`agent` is known in llm steps only"
    if root == "params" and rest and isinstance(rest[0], str) and rest[0] not in workflow.parameters:
        known = ", ".join(workflow.parameters) or "none"
        return f"there is no parameter {one_line(rest[0], 60)!r}; there are: {known}"
    if root != "step" or not rest or not isinstance(rest[0], str | int):
        return ""
    if isinstance(rest[0], int):
        count = step.number - 1
        if not -count <= rest[0] < count:
            return f"step[{rest[0]}] is not one of the {count} steps before this one"
        named = workflow.steps[rest[0] if rest[0] >= 0 else count + rest[0]]
    else:
        found = next((each for each in workflow.steps if each.id == rest[0]), None)
        if found is None:
            return f"there is no step with the id {one_line(rest[0], 60)!r}"
        named = found
    if named.number not in step.needs:
        return f"{step.name!r} uses the result of {named.name!r}, which need not have ended by then"
    if len(rest) > 1 and isinstance(rest[1], str) and rest[1] not in _RESULT:
        return f"a step's result has no {one_line(rest[1], 60)!r}; it has {', '.join(sorted(_RESULT))}"
    return ""
