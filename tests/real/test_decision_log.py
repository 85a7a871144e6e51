"""`guard log`: what ran, when, by which rule or answer, in the sandbox or not; as the program recorded it."""

import json
from pathlib import Path
from typing import Any

from gshtui.guard.rules.rule_file import add_rule, own_file
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.warm_program import run_gsh


def test_what_was_decided_is_found_with_who_decided_it(home: Home, tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    assert run_gsh("guard", "log", cwd=project).out.strip() == "Nothing was decided then."
    add_rule(own_file(), '[[rule]]\ndo = "allow"\nprogram = "touch"\n')
    add_rule(own_file(), '[[rule]]\ndo = "deny"\nprogram = "mkdir"\nwhy = "no folders"\n')
    for line in ("ls", "touch by-rule", "mkdir never", "chmod 0 x", "rm -rf /"):
        run_gsh("prompt", f"run {line}", cwd=project)
    run_gsh("prompt", "--yes", "run cp README.md copy", cwd=project)

    def logged(*options: str) -> list[dict[str, Any]]:
        ran = run_gsh("guard", "log", "--json", *options, cwd=project)
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    found = logged()
    assert [(one["subject"], one["verdict"], one["by"], one["ran"]) for one in found][:5] == [
        ("ls", "allow", "reads", True),
        ("touch by-rule", "allow", "rule rules.toml:3", True),
        ("mkdir never", "deny", "rule rules.toml:7", False),
        ("chmod 0 x", "deny", "guard", False),
        ("rm -rf /", "deny", "guard", False),
    ]
    assert found[-1]["by"] in ("sandbox", "policy") and found[-1]["sandboxed"] is (found[-1]["by"] == "sandbox")
    assert "Always refused" in found[4]["reason"] and "no folders" in found[2]["reason"]
    assert [one["subject"] for one in logged("--verdict", "deny", "-n", "2")] == ["chmod 0 x", "rm -rf /"]
    assert logged("--agent", "0042") == logged("--tool", "write") == []
    assert [one["subject"] for one in logged("mkdir")] == ["mkdir never"]
    assert len(logged("--since", "1h")) == 6
    assert run_gsh("guard", "log", "--since", "whenever", cwd=project).code == 2
    said = run_gsh("run", "guard log", cwd=project).out
    assert "deny main bash mkdir never · rule rules.toml:7: " in said
    assert run_gsh("run", "--as", "main", "guard log", cwd=project).code != 0, "for people only"
