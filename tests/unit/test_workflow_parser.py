"""Workflows as they are read from YAML: what is accepted, and errors that name file and line."""

from pathlib import Path

import pytest

from gshtui.features.workflows.definition import LlmAction, ShellAction, ToolAction, Workflow, WorkflowError
from gshtui.features.workflows.parameters import environment_of, given_words, values_of
from gshtui.features.workflows.workflow_library import read_library
from gshtui.features.workflows.workflow_parser import read_workflows
from gshtui.settings import trust
from gshtui.settings.loader import load
from tests.kit.configuration import made_project, user_file
from tests.kit.home import Home

FILE = Path("made.yml")
GOOD = """\
workflows:
  release:
    description: "Make a release"
    parameters:
      level: {type: enum, choices: [patch, minor], default: patch, help: "How much changed"}
      count: {type: int, required: true}
      share: {type: float}
      dry: {type: bool, default: false}
      note: {type: string, default: "no"}
    steps:
      - id: a
        shell:
          command: |
            echo one
            echo {{ params.count }}
      - id: b
        needs: [a]
        when: "params.dry == false and step['a'].exit_code == 0"
        timeout_seconds: "params.count"
        on_failure: retry
        retry: {max: 3, backoff: {base_ms: 5, factor: 1.5, jitter_ms: 0}}
        tool: {name: read, args: {path: "{{ step['a'].stdout }}", limit: 3}}
      - id: c
        needs: [a]
        llm: {prompt: "Say {{ step['a'].stdout }} to {{ agent }}"}
      - shell: {command: "echo {{ step['b'].stdout }}{{ step[-1].stdout }}", cwd: web, stdin: "x"}
"""


def made(text: str = GOOD) -> Workflow:
    return read_workflows(FILE, text.encode())["release"]


def test_everything_of_a_workflow_is_read() -> None:
    workflow = made()
    assert [step.kind for step in workflow.steps] == ["shell", "tool", "llm", "shell"]
    assert [sorted(step.needs) for step in workflow.steps] == [[], [1], [1], [1, 2, 3]]
    shell = workflow.steps[0].action
    assert isinstance(shell, ShellAction)
    assert (shell.command.text, shell.command.line) == ("echo one\necho {{ params.count }}\n", 14)
    assert isinstance(workflow.steps[1].action, ToolAction)
    assert isinstance(workflow.steps[2].action, LlmAction)
    assert workflow.steps[1].retry.max == 3
    assert workflow.parameters["note"].default == "no"


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("description: ", "descriptoin: ", 3, "did you mean 'description'"),
        ("        on_failure: retry\n", "        on_failure: rtry\n", 20, "must be one of exit, continue, ask, retry"),
        ("{{ params.count }}", "{{ params.cuont }}", 15, "there is no parameter 'cuont'"),
        ("step['a'].exit_code", "step['z'].exit_code", 18, "there is no step with the id 'z'"),
        ("step['a'].exit_code", "step['a'].exitcode", 18, "a step's result has no 'exitcode'"),
        ("step['a'].stdout }} to", "step['b'].stdout }} to", 25, "need not have ended by then"),
        ("Say {{", "Say {% if x %}{{", 25, "only `{{ … }}`"),
        ("type: enum", "type: list", 5, "must be one of string, bool, int, float, enum"),
        ("default: patch", "default: major", 5, "is not one of patch, minor"),
        ("needs: [a]\n        when", "needs: [c2]\n        when", 17, "names 'c2', which is no step's id"),
        ("- id: b", "- id: a", 16, "the id 'a' is that of step 1"),
        ("{name: read", "{nam: read", 22, "`tool` has no field 'nam'"),
        (
            "      - id: c\n",
            "      - id: c\n        shell: {command: x}\n",
            23,
            "exactly one of shell, llm, tool and python",
        ),
        ("    description", "    x: &a 1\n    description", 3, "anchors, aliases and tags are not read"),
        ("cwd: web", "cwd: web, command: y", 26, "given twice"),
        ("dry: {type", "json: {type", 8, "is an option of `workflow run` itself"),
    ],
)
def test_an_error_names_file_and_line(before: str, after: str, line: int, said: str) -> None:
    assert before in GOOD
    with pytest.raises(WorkflowError) as raised:
        made(GOOD.replace(before, after, 1))
    assert raised.value.message.startswith(f"made.yml, line {line}: ")
    assert said in raised.value.message
    assert raised.value.code == 2


def test_a_circle_is_named() -> None:
    text = "workflows:\n  release:\n    steps:\n" + "".join(
        f"      - id: {one}\n        needs: [{needs}]\n        shell: {{command: 'true'}}\n"
        for one, needs in (("a", "c"), ("b", "a"), ("c", "b"))
    )
    with pytest.raises(WorkflowError, match=r"wait for each other: [abc] → [abc] → [abc] → [abc]"):
        made(text)


@pytest.mark.parametrize(
    "text",
    [
        "workflows: [",
        "workflows:\n  release: 3\n",
        "a: 1\n",
        "workflows:\n  a:\n    steps:\n    - shell:\n       command:\n        a=1\n        # y\n        b\n",
        "x" * 600_000,
        "workflows: " + "[" * 5_000,
        "\x00",
        "workflows:\n  release:\n    steps:\n      - python: {code: 'a ='}\n",
    ],
)
def test_what_is_no_workflow_is_one_sentence(text: str) -> None:
    with pytest.raises(WorkflowError) as raised:
        read_workflows(FILE, text.encode())
    assert "made.yml" in raised.value.message
    assert len(raised.value.message) < 500


def test_values_come_from_options_and_defaults() -> None:
    workflow = made()
    words = given_words(workflow, ["--dry", "--level", "minor", "--count=4", "share=0.5"])
    values = values_of(workflow, words)
    assert values == {"level": "minor", "count": 4, "share": 0.5, "dry": True, "note": "no"}
    assert environment_of(values) == {"level": "minor", "count": "4", "share": "0.5", "dry": "1", "note": "no"}
    assert values_of(workflow, given_words(workflow, ["--no-dry", "count=1"]))["dry"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "needs the parameter count"),
        (["--count", "x"], "'x' is not a whole number"),
        (["--count", "1", "--level", "major"], "is not one of patch, minor"),
        (["--count", "1", "--depth", "3"], "no parameter|is no parameter"),
        (["--count", "1", "--share", "nan"], "is not a number"),
        (["--count", "1", "--dry=maybe"], "is not true or false"),
        (["--count"], "needs a value"),
        (["count"], "is no parameter"),
    ],
)
def test_wrong_values_are_said(words: list[str], said: str) -> None:
    workflow = made()
    with pytest.raises(WorkflowError, match=said) as raised:
        values_of(workflow, given_words(workflow, words))
    assert raised.value.code == 2


def test_a_project_brings_workflows_once_it_is_trusted(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    folder = project / ".gsh" / "workflows"
    folder.mkdir(parents=True)
    mine = home.config / "gsh" / "workflows"
    mine.mkdir(parents=True)
    (mine / "own.yml").write_text(GOOD.replace("release", "mine"), encoding="utf-8")
    file = folder / "theirs.yml"
    file.write_text(GOOD, encoding="utf-8")
    library = read_library(project)
    assert "mine" in library.found
    assert "release" not in library.found
    assert "not trusted" in library.problems[0]
    trust.trust(project, None)
    assert read_library(project).found["release"].source == "the project's"
    file.write_text(GOOD.replace("echo one", "echo two"), encoding="utf-8")
    changed = read_library(project)
    assert "release" not in changed.found
    assert "new or changed" in changed.problems[0]
    file.write_text(GOOD.replace("release", "mine"), encoding="utf-8")
    trust.trust(project, None)
    assert "which a project cannot replace" in read_library(project).problems[0].replace("\n", " ")


def test_those_that_come_with_it_are_valid(tmp_path: Path) -> None:
    library = read_library(tmp_path)
    assert library.problems == []
    assert "create-git-commit" in library.found
    with pytest.raises(WorkflowError, match="There is no workflow"):
        library.get("create-git-comit")


def test_a_configuration_has_workflows_too(tmp_path: Path, home: Home) -> None:
    file = user_file(
        home,
        """
[ui]
theme = "gsh-dark"

[workflows.greet]
description = "Greet somebody"
parameters.name = {type = "string", default = "true"}
steps = [
  {id = "look", shell = {command = "echo \\"$name\\""}},
  {when = "step['look'].exit_code == 0", shell = {stdin = "{{ step['look'].stdout }}", command = "cat"}},
]

[workflows.wrong]
steps = [{shell = {comand = "ls"}}]
""",
    )
    loaded = load(tmp_path)
    assert not [problem for problem in loaded.problems if "workflows" in str(problem)]
    assert loaded.settings.ui.theme == "gsh-dark"
    library = read_library(tmp_path)
    found = library.get("greet")
    assert (found.source, found.file, found.line, len(found.steps)) == ("yours", file, 5, 2)
    assert found.parameters["name"].default == "true"  # a text, though it looks like something else in YAML
    assert [problem for problem in library.problems if f"{file}, line 13: " in problem and "comand" in problem]
    assert read_workflows(found.file, found.text.encode(), found.source)["greet"].steps == found.steps


def test_a_projects_configuration_brings_workflows_once_it_is_trusted(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    file = project / ".gsh" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        "[workflows.theirs]\nsteps = [{shell = {command = 'ls'}}]\n"
        "[workflows.create-git-commit]\nsteps = [{shell = {command = 'ls'}}]\n"
    )
    assert "theirs" not in read_library(project).found
    trust.trust(project, file.read_bytes())
    library = read_library(project)
    assert library.get("theirs").source == "the project's"
    assert library.get("create-git-commit").source == "built in"
    assert any("a project cannot replace" in problem for problem in library.problems)
    file.write_text(file.read_text() + "# changed\n")
    assert "theirs" not in read_library(project).found
