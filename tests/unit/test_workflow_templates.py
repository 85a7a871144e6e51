"""Templates of workflows, on python-liquid itself: strict, bounded, and never code of a shell."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.features.workflows.definition import Template
from gshtui.features.workflows.templates import TemplateError, holds, number, references, render, shell_script
from gshtui.guard.policy.shell_line import quoting_at
from tests.kit.storms import examples

VALUES: dict[str, Any] = {
    "params": {"amend": True, "level": "high", "count": 3, "none": None},
    "step": {"git-changes": {"stdout": " diff \n", "exit_code": 0}},
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ step['git-changes'].stdout }}", " diff \n"),
        ("{{ step['git-changes'].stdout | default: '' | strip }}", "diff"),
        ("{{ params.amend | default: false | downcase | replace: 'true', '1' | replace: 'false', '0' }}", "1"),
        ("{{ params.missing | default: 'x' }}", "x"),
        ("{% raw %}{{ as it is }}{% endraw %}", "{{ as it is }}"),
    ],
)
def test_what_the_seed_shows(text: str, result: str) -> None:
    assert render(Template(text), VALUES) == result


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ params.missing }}", "undefined"),
        ("{{ params.level | nofilter }}", "unknown filter"),
        ("{{ params.level | times: 9 }}", "unknown filter"),
        ("{% for i in (1..1000000000) %}x{% endfor %}", "only `{{ … }}`"),
        ("{% comment %}x{% endcomment %}", "only `{{ … }}`"),
        ("{% include 'x' %}", "only `{{ … }}`"),
        ("{{ params.level", "expected"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(TemplateError, match=said) as raised:
        render(Template(f"first\n{text}", 10), VALUES)
    assert raised.value.line == 11


def test_a_template_that_would_fill_the_memory_is_stopped() -> None:
    text = "{{ 'aaaaaaaaaa' " + "| replace: 'a', 'aaaaaaaaaa' " * 19 + "}}"
    with pytest.raises(TemplateError, match="would make more than"):
        render(Template(text), VALUES)
    with pytest.raises(TemplateError, match="more than 20 filters"):
        references(Template("{{ 'a' " + "| strip " * 21 + "}}"))
    with pytest.raises(TemplateError, match="longer than"):
        render(Template("{{ params.long }}{{ params.long }}"), {"params": {"long": "x" * 700_000}})


def test_expressions() -> None:
    assert holds(Template("params.amend and step['git-changes'].exit_code == 0"), VALUES)
    assert not holds(Template("params.level == 'low' or not params.amend"), VALUES)
    assert number(Template("params.count"), VALUES) == 3
    assert number(Template("2.5"), VALUES) == 2.5
    for wrong in ("{{ params.amend }}", "params.amend %}x{% if true", "params. =="):
        with pytest.raises(TemplateError):
            holds(Template(wrong), VALUES)
    with pytest.raises(TemplateError, match="is not a number"):
        number(Template("params.level"), VALUES)


def test_references_have_lines() -> None:
    found = references(Template("a\n{{ step['x'].stdout }}", 7))
    assert [(one.parts, one.line) for one in found] == [(("step", "x", "stdout"), 8)]


@pytest.mark.parametrize(
    ("script", "quoting"),
    [
        ("echo X", "none"),
        ('echo "a X"', "double"),
        ("echo 'X'", "single"),
        ("echo $'X'", "single"),
        ('echo "$(f X)"', "none"),
        ('echo "$(f "X")"', "double"),
        ("cat <<E\nX\nE\n", "plain heredoc"),
        ("cat <<'E'\nX\nE\n", "heredoc"),
        ("cat <<E\n$(f X)\nE\n", "none"),
        ("echo 'open X", "single"),
    ],
)
def test_how_a_word_is_quoted(script: str, quoting: str) -> None:
    assert quoting_at(script, script.index("X")) == quoting


@pytest.mark.parametrize("script", ["echo '{{ params.v }}'", "cat <<'E'\n{{ params.v }}\nE\n"])
def test_a_value_where_a_shell_puts_none_is_refused(script: str) -> None:
    with pytest.raises(TemplateError, match="use double quotes"):
        shell_script(Template(script), {"params": {"v": "x"}})


@settings(deadline=None, max_examples=examples(25))
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=40))
def test_no_value_is_ever_code(value: str) -> None:
    """Whatever a value holds, bash prints it as it is, quoted or not, and runs nothing of it."""
    text = 'printf "%s" {{ params.v }}; printf "|%s" "a {{ params.v }} b" "$(printf "%s" "{{ params.v }}.")"'
    script, variables = shell_script(Template(text), {"params": {"v": value}})
    assert value not in script or value in text
    ran = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", script],
        env={"PATH": "/usr/bin:/bin", **variables},
        capture_output=True,
        timeout=10,
        check=True,
    )
    assert ran.stdout.decode() == f"{value}|a {value} b|{value}."
