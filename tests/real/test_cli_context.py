"""`gsh-tui context timeline compact prune` as processes on the real record, with and without a window that is open."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.store.record.store import Store
from tests.kit.configuration import made_project
from tests.kit.endings import closing_async
from tests.kit.resident import events_until
from tests.kit.warm_program import run_gsh, start_gsh
from tests.real.test_cli_prompt import SLEEP

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "transcripts"
CLAUDE_ID = "5f3c7f0e-7e0b-4a53-9d1a-3f3a3b9d2f10"
WORDS = "hello from the readme\n"
LONG = "a line of a long file that is read and then not needed any more\n" * 400


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = made_project(tmp_path / "project")
    (folder / "README.md").write_text(WORDS, encoding="utf-8")
    (folder / "long.txt").write_text(LONG, encoding="utf-8")
    return folder


@pytest.fixture
def session(project: Path) -> str:
    found = run_gsh("prompt", "--json", "read README.md", cwd=project).lines[-1]["session"]
    run_gsh("prompt", "--json", "--session", found, "read long.txt", cwd=project)
    return str(found)


def history(project: Path) -> list[dict[str, Any]]:
    """The blocks of the next request's history."""
    return run_gsh("context", "--json", "--section", "history", cwd=project).json["sections"][0]["blocks"]


def texts(data: Any, section: str) -> list[str]:
    return [block["text"] for one in data["sections"] if one["name"] == section for block in one["blocks"]]


def test_the_json_of_the_contract(project: Path, session: str) -> None:
    data = run_gsh("context", "main", "--json", cwd=project).json
    assert set(data) >= {"agent", "model", "window", "tokens", "sections", "request"}
    assert (data["session"], data["model"]) == (session, "offline")
    assert [one["name"] for one in data["sections"]] == ["system", "call", "memory", "tools", "history", "input"]
    assert all(set(block) >= {"source", "tokens", "text"} for one in data["sections"] for block in one["blocks"])
    said = "\n".join(texts(data, "history") + texts(data, "input"))
    assert WORDS.strip() in said
    assert "read README.md" in said
    assert sum(one["tokens"] for one in data["sections"]) == data["tokens"]
    assert WORDS.strip() in json.dumps(data["request"])


def test_what_is_shown_before_the_first_prompt_is_sent_with_it(project: Path) -> None:
    def fixed(*arguments: str) -> list[tuple[str, str]]:
        shown = run_gsh("context", "main", "--json", *arguments, cwd=project).json["sections"]
        return [(one["source"], one["text"]) for part in shown[:4] for one in part["blocks"]]

    before = fixed()
    assert "No conversations" in run_gsh("session", "ls", cwd=project).out, "looking begins nothing"
    run_gsh("prompt", "hello", cwd=project)
    assert before == fixed("--iteration", "1")
    assert len(before) > 10


def test_for_people(project: Path, session: str) -> None:
    told = run_gsh("context", cwd=project)
    assert (told.code, told.err) == (0, "")
    assert "| history" in told.out
    elsewhere = run_gsh("context", session[-6:], cwd=project.parent)  # from any folder, by the conversation
    assert elsewhere.out.split("\n")[0] == told.out.split("\n")[0]
    supposed = run_gsh("run", "whatif haiku agent=main", cwd=project)  # no key is needed to know a price
    assert (supposed.code, supposed.err) == (0, "")
    assert "$" in supposed.out
    assert max(len(line) for line in told.out.split("\n") if line.startswith("|")) <= 80
    assert "read README.md" in run_gsh("context", "--section", "history", cwd=project).out
    assert WORDS.strip() in run_gsh("context", "--block", "read README.md", cwd=project).out
    several = run_gsh("context", "--block", "you", cwd=project)
    assert (several.code, several.out) == (2, "")
    assert "matches several" in several.err
    assert WORDS.strip() in run_gsh("context", "--request", cwd=project).out


def test_through_time(project: Path, session: str) -> None:
    marks = run_gsh("timeline", "--json", cwd=project).json
    assert marks["requests"] == len(marks["iterations"]) == 4
    assert "4 requests" in run_gsh("timeline", cwd=project).out
    first = run_gsh("context", "main", "--iteration", "1", "--json", cwd=project).json
    last = run_gsh("context", "main", "--iteration", "-1", "--json", cwd=project).json
    assert (first["iteration"], last["iteration"]) == (1, 4)
    assert first["tokens"] < last["tokens"]
    assert WORDS.strip() not in json.dumps(first)
    found = run_gsh("context", "main", "--diff", "1", "2", "--json", cwd=project).json["differences"]
    assert {one["kind"] for one in found} == {"added"}
    assert WORDS.strip() in "\n".join(one["text_after"] for one in found)
    assert "added" in run_gsh("context", "main", "--diff", "1", "2", cwd=project).out


def test_prune_and_undo(project: Path, session: str) -> None:
    run_gsh("prompt", "--session", session, "read README.md", cwd=project)
    assert run_gsh("prune", cwd=project).code == 1  # all of it is protected
    assert run_gsh("run", "tune main protect=500", cwd=project).code == 0
    preview = run_gsh("prune", "--preview", "--json", cwd=project).json
    assert preview["id"] == ""
    assert preview["tokens_after"] < preview["tokens_before"]
    before = run_gsh("context", "--json", cwd=project).json
    cut = run_gsh("prune", "--json", cwd=project).json
    after = run_gsh("context", "--json", cwd=project).json
    assert after["tokens"] < before["tokens"]
    sent = json.dumps(after["request"])
    assert "output pruned" in sent
    assert sent.count(LONG[:60]) < json.dumps(before["request"]).count(LONG[:60]) / 2  # the answer quotes some of it
    assert [one["id"] for one in run_gsh("timeline", "--json", cwd=project).json["cuts"]][-1] == cut["id"]
    assert "long.txt" in run_gsh("timeline", "--cut", cut["id"], cwd=project).out
    elsewhere = run_gsh("timeline", "--cut", cut["id"], cwd=project.parent)  # the id alone says whose it is
    assert "long.txt" in elsewhere.out, elsewhere.err
    assert run_gsh("run", "undo", cwd=project).code == 0
    assert run_gsh("context", "--json", cwd=project).json["tokens"] == before["tokens"]
    assert run_gsh("run", "undo", cwd=project).code in (1, 2)


def test_with_an_agents_rights(project: Path, session: str) -> None:
    own = run_gsh("run", "--json", "--as", "main", "context", cwd=project)
    assert own.code == 0
    assert "text" not in own.json["sections"][0]["blocks"][0]
    number = next(b["number"] for b in history(project) if b["kind"] == "tool_result")
    assert run_gsh("run", "--as", "main", f"pin {number}", cwd=project).code == 0
    assert run_gsh("run", "--as", "main", f"unpin {number}", cwd=project).code == 4
    assert run_gsh("run", f"unpin {number}", cwd=project).code == 0
    assert run_gsh("run", "--as", "other", "context main", cwd=project).code == 4
    assert run_gsh("run", "--as", "other", "prune main", cwd=project).code == 4


def test_before_anything_was_said(project: Path) -> None:
    ran = run_gsh("context", "--iteration", "1", cwd=project)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert "sent nothing yet" in run_gsh("timeline", cwd=project).out


def test_while_the_conversation_is_open(project: Path) -> None:
    with start_gsh("prompt", "--json", "--yes", SLEEP, cwd=project) as process:
        session = events_until(process, "ToolStarted")["session"]
        data = run_gsh("context", "main", "--json", cwd=project).json
        assert data["session"] == session
        assert SLEEP.split()[-1] in json.dumps(data["sections"])
        assert run_gsh("timeline", "--json", cwd=project).json["requests"] == 1


async def test_a_program_in_a_terminal_is_told_from_its_transcript(project: Path, tmp_path: Path) -> None:
    run_gsh("prompt", "read README.md", cwd=project)
    (database,) = (path for path in Path(os.environ["XDG_DATA_HOME"]).rglob("gsh.db"))
    row = AgentRow(
        id="",
        name="helper",
        kind="cli",
        profile="claude",
        cwd=str(project),
        home=str(project),
        external_id=CLAUDE_ID,
        created=1.0,
    )
    async with closing_async(await Store.open(database)) as store:
        await store.agents.add(row, SpawnRequest(cli=("claude",)))
    folder = tmp_path / "claude-home" / "projects" / "somewhere"
    folder.mkdir(parents=True)
    shutil.copy(FIXTURES / "claude.jsonl", folder / f"{CLAUDE_ID}.jsonl")
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude-home")}
    data = run_gsh("context", "helper", "--json", cwd=project, env=env).json
    assert "Reconstructed from its transcript" in data["note"]
    assert texts(data, "input")[-1] == "They say so now."
    assert not data["request_exact"]
    assert "4 requests, 1 cut" in run_gsh("timeline", "helper", cwd=project, env=env).out
    compared = run_gsh("context", "helper", "--diff", "1", "2", cwd=project, env=env)
    assert "5 added" in compared.out
    refused = run_gsh("compact", "helper", cwd=project, env=env)
    assert refused.code == 1
    assert "decides what it sends" in refused.err
    assert run_gsh("context", "helper", cwd=project).code == 1  # with no transcript to be found
