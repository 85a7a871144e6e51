"""The values of a workflow's parameters: from options, from `name=value`, from defaults; each checked for its type."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gshtui.features.workflows.definition import Parameter, Value, Workflow, WorkflowError
from gshtui.text.plain_name import similar_names
from gshtui.text.sanitise import one_line

_TRUE, _FALSE = frozenset(("true", "yes", "on", "1")), frozenset(("false", "no", "off", "0"))


def parameter_value(parameter: Parameter, given: Value) -> Value:
    """The value with its parameter's type. Raises `ValueError` with a sentence without its full stop."""
    said = one_line(str(given), 60)
    match parameter.type:
        case "bool":
            word = str(given).lower()
            if word not in _TRUE | _FALSE:
                raise ValueError(f"{said!r} is not true or false")
            return word in _TRUE
        case "int" | "float":
            try:
                if isinstance(given, bool) or len(str(given)) > 40:
                    raise ValueError
                value = int(str(given)) if parameter.type == "int" else float(str(given))
            except ValueError:
                kind = "a whole number" if parameter.type == "int" else "a number"
                raise ValueError(f"{said!r} is not {kind}") from None
            if not math.isfinite(value):
                raise ValueError(f"{said!r} is not a number")
            return value
        case "enum":
            if str(given) not in parameter.choices:
                raise ValueError(f"{said!r} is not one of {', '.join(parameter.choices)}")
            return str(given)
        case "string":
            if "\0" in str(given):
                raise ValueError("it contains a NUL")
            return str(given)


def values_of(workflow: Workflow, given: Mapping[str, Value]) -> dict[str, Value]:
    """All values, with the defaults. Raises `WorkflowError`: one is missing, unknown or of the wrong type."""
    for name in given:
        if name not in workflow.parameters:
            near = similar_names(name, tuple(workflow.parameters), most=1)
            known = ", ".join(workflow.parameters) or "none"
            hint = f"Did you mean {near[0]}?" if near else f"Its parameters: {known}."
            raise WorkflowError(f"{workflow.name} has no parameter {one_line(name, 60)!r}.", hint)
    found: dict[str, Value] = {}
    for name, parameter in workflow.parameters.items():
        value = given.get(name)
        if value is None and parameter.required:
            raise WorkflowError(f"{workflow.name} needs the parameter {name}.", f"Give it as --{option(name)} VALUE.")
        try:
            found[name] = parameter.default if value is None else parameter_value(parameter, value)
        except ValueError as error:
            raise WorkflowError(f"The parameter {name}: {error}.") from None
    return found


def option(name: str) -> str:
    """A parameter's name as an option, without its dashes."""
    return name.replace("_", "-")


def given_words(workflow: Workflow, words: Sequence[str]) -> dict[str, Value]:
    """The values in words: `--amend`, `--no-push`, `--level high`, `--level=high`, `level=high`.
    Raises `WorkflowError`: a word is none of these.
    """
    options = {option(name): name for name in workflow.parameters}
    options |= {name: name for name in workflow.parameters}
    given: dict[str, Value] = {}
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") and not equals:
            raise WorkflowError(f"{one_line(word, 60)!r} is no parameter.", "Write --NAME VALUE or NAME=VALUE.")
        negated = name.removeprefix("no-") if name.startswith("no-") and not equals else ""
        if name not in options and negated in options and workflow.parameters[options[negated]].type == "bool":
            given[options[negated]] = False
            continue
        if name not in options:
            given[name] = value
            continue
        parameter = workflow.parameters[options[name]]
        if equals:
            given[parameter.name] = value
        elif parameter.type == "bool":
            given[parameter.name] = True
        elif waiting:
            given[parameter.name] = waiting.pop(0)
        else:
            raise WorkflowError(f"--{name} needs a value.")
    return given


def environment_of(values: Mapping[str, Value]) -> dict[str, str]:
    """The values as variables of a process: true is 1, false is 0, none is empty."""
    return {
        name: str(int(value)) if isinstance(value, bool) else "" if value is None else str(value)
        for name, value in values.items()
    }
