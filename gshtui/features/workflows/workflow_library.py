"""The workflows of a folder: those that come with gsh-tui, the person's own, and a trusted project's.

They are in folders of YAML files, and in the tables `[workflows.NAME]` of the configuration.

A later one of the same name replaces an earlier one, except that a project's replaces none that is not the project's
own. A bad file is reported, with its line, and never stops the others.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from gshtui.bus.workflow_data import WorkflowSource
from gshtui.features.workflows.definition import MOST_BYTES, Workflow, WorkflowError
from gshtui.settings import paths, trust
from gshtui.settings.paths import definition_entries
from gshtui.settings.toml_file import TomlFile, read_bytes, read_toml
from gshtui.system.json_types import is_object
from gshtui.text.plain_name import similar_names
from gshtui.text.sanitise import one_line

PROJECT_FOLDER = ".gsh/workflows"
MOST_FILES = 100
_BUILT_IN = Path(__file__).parent / "builtin"


class WorkflowLibrary(msgspec.Struct):
    """The workflows by name, and one sentence for each file that cannot be used."""

    found: dict[str, Workflow] = msgspec.field(default_factory=dict[str, Workflow])
    problems: list[str] = msgspec.field(default_factory=list[str])

    def get(self, name: str) -> Workflow:
        """Raises `WorkflowError`: there is none, or its file is not valid."""
        if (workflow := self.found.get(name)) is not None:
            return workflow
        near = similar_names(name, tuple(self.found), most=1)
        hint = f"Did you mean {near[0]}?" if near else "`gsh-tui workflow ls` lists them."
        raise WorkflowError(
            f"There is no workflow {one_line(name, 60)!r}.",
            " ".join([*self.problems[:3], hint]) if self.problems else hint,
        )


def own_folder() -> Path:
    """Where a person's own workflows are."""
    return paths.config_dir(create=False) / "workflows"


def read_library(cwd: Path) -> WorkflowLibrary:
    """All workflows for a folder. Reads files; blocks for a moment. Never raises for what a file holds."""
    library = WorkflowLibrary()
    _read_folder(library, _BUILT_IN, "built in")
    _read_folder(library, own_folder(), "yours")
    _read_settings(library, read_toml(paths.config_file(), "user"), "yours")
    root = paths.project_root(cwd)
    settings = read_toml(paths.project_config_file(root), "project")
    if settings.exists and trust.state(root, settings.raw) == "trusted":  # else the settings' own problem says so
        _read_settings(library, settings, "the project's")
    folder = root / PROJECT_FOLDER
    if not folder.is_dir():
        return library
    if trust.state(root, None) == "untrusted":
        library.problems.append(f"{folder} is not used: this folder is not trusted; run `gsh-tui config trust`.")
        return library
    _read_folder(library, folder, "the project's", root)
    return library


def _read_folder(library: WorkflowLibrary, folder: Path, source: WorkflowSource, root: Path | None = None) -> None:
    """Add the workflows of a folder. `root`: of the project that must be trusted with each file."""
    from gshtui.features.workflows.workflow_parser import read_workflows

    for file in definition_entries(folder, lambda file: file.suffix in (".yml", ".yaml"), MOST_FILES, library.problems):
        try:
            _add(library, file, read_workflows(file, _content(file, root), source))
        except WorkflowError as error:
            library.problems.append(error.message)


def _read_settings(library: WorkflowLibrary, file: TomlFile, source: WorkflowSource) -> None:
    """Add the workflows of a configuration's `[workflows.NAME]` tables."""
    from gshtui.features.workflows.workflow_parser import read_table

    tables: object = file.data.get("workflows", {})
    if not is_object(tables):
        library.problems.append(f"{file.path}: `workflows` must be tables, such as [workflows.release-notes].")
        return
    for name, table in tables.items():
        try:
            line = file.lines.get(("workflows", name), 1)
            _add(library, file.path, {name: read_table(file.path, name, table, line, source)})
        except WorkflowError as error:
            library.problems.append(error.message)


def _add(library: WorkflowLibrary, file: Path, found: dict[str, Workflow]) -> None:
    """Add the workflows of a file. Raises `WorkflowError`: a project would replace one that is not its own."""
    for name, workflow in found.items():
        before = library.found.get(name)
        if workflow.source == "the project's" and before is not None and before.source != workflow.source:
            raise WorkflowError(
                f"{file}, line {workflow.line}: there is already a workflow {name!r} ({before.source}), which "
                "a project cannot replace."
            )
    library.found |= found


def _content(file: Path, root: Path | None) -> bytes:
    try:
        if root is not None:
            if file.is_symlink():
                raise WorkflowError(f"{file} is not used: it is a link.")
            if trust.file_state(root, file) != "trusted":
                raise WorkflowError(
                    f"{file} is not used: it is new or changed since you trusted this folder; run "
                    "`gsh-tui config trust`."
                )
        if file.stat().st_size > MOST_BYTES:
            raise WorkflowError(f"{file} has {file.stat().st_size:,} bytes; the limit is {MOST_BYTES:,}.")
        raw = read_bytes(file)
    except OSError as error:
        raise WorkflowError(f"Cannot read {file}: {error.strerror or error}.") from error
    return b"" if raw is None else raw
