"""One look at a program that nobody follows: weighed as everywhere, so that an input that is to be seen is no rest."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gshtui.bus.agent_data import AgentRow, OpenQuestion, ProgramMode
from gshtui.fleet.core.agent_programs import Programs
from gshtui.guard.approval.question_text import program_request, question_parts
from gshtui.programs.transcripts.claude_transcript import slug
from gshtui.system.processes.process_identity import start_of
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from tests.kit.home import Home

SCREENS = Path(__file__).parents[1] / "fixtures" / "screens"
ROW = AgentRow(
    id="0001", name="it", kind="cli", profile="claude", argv=("claude",), pane="%0", pid=os.getpid(), created=1.0
)


class Screen(TmuxServer):
    """A server whose only pane shows a recorded screen."""

    def __init__(self, file: str, title: str = "") -> None:
        super().__init__("gsh-recorded")
        path = SCREENS / file
        shots: list[dict[str, Any]] = json.loads((path.parent / "screens.json").read_text("utf-8"))["shots"]
        shot = next(one for one in shots if one["file"] == path.name)
        self._lines = tuple(path.read_text("utf-8").split("\n"))
        x, y = shot["cursor"]
        self._info = PaneInfo(
            "%0",
            "@0",
            "$0",
            os.getpid(),
            shot["command"],
            title or shot["title"],
            False,
            None,
            120,
            40,
            x,
            y,
            True,
            False,
            False,
            0,
            0.0,
            False,
        )

    async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]:
        return self._info, self._lines


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make test", []),
        ("make && git push origin main", ["⚠ may send to the network"]),
        ("sudo rm -rf build", ["⚠ runs as another user", "⚠ deletes or overwrites permanently"]),
    ],
)
async def test_a_person_is_warned_of_a_command_whose_transcript_tells_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, expected: list[str]
) -> None:
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": command}}
    records = [
        {"type": "user", "uuid": "a", "message": {"content": "Do it."}},
        {"type": "assistant", "uuid": "b", "message": {"id": "b", "content": [call]}},
    ]
    file = tmp_path / "projects" / slug(str(tmp_path)) / "c1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    row = msgspec.structs.replace(ROW, cwd=str(tmp_path), external_id="c1")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    asked = OpenQuestion("q", "Do you want to proceed?", command)
    whole = await Programs().whole_question(TmuxServer("gsh-none"), row, asked, frozenset())
    lines = question_parts(program_request(row, whole)).head
    assert [line.text for line in lines if line.kind == "warning"] == expected


IDLE = {"claude": "claude/2.1.332/ask-120x35/02-idle.txt", "codex": "codex/0.169.0/02-idle.txt"}


async def looked(program: str, before: str, title: str = "", mode: ProgramMode | None = None) -> dict[str, Any]:
    """What one look changes in the row of a program whose screen shows nothing but its input."""
    row = msgspec.structs.replace(
        ROW, profile=program, argv=(program,), status=before, status_source="screen", program_mode=mode
    )
    return await Programs(screen_only=frozenset({"*"})).glance(Screen(IDLE[program], title), row)


@pytest.mark.parametrize("program", sorted(IDLE))
async def test_an_input_is_no_rest(home: Home, program: str) -> None:
    assert (await looked(program, "thinking"))["status"] == "quiet"
    assert "status" not in await looked(program, "idle"), "no more is known than before"


async def test_a_mode_that_was_approved_stays_so(home: Home) -> None:
    shown: ProgramMode = (await looked("claude", "idle"))["program_mode"]
    approved = msgspec.structs.replace(shown, approved=True)
    assert await looked("claude", "idle", mode=approved) == {}
    other = msgspec.structs.replace(approved, name="plan", like="plan")
    assert await looked("claude", "idle", mode=other) == {"program_mode": shown}


async def test_a_title_that_turns_is_work(home: Home) -> None:
    found = await looked("codex", "idle", "⠋ project")
    assert (found["status"], found["status_source"]) == ("thinking", "title")


@pytest.mark.parametrize(("kept", "status", "needs"), [("busy", "thinking", False), ("waiting", "waiting", True)])
async def test_its_record_counts(home: Home, kept: str, status: str, needs: bool) -> None:
    record = home.path / ".claude" / "sessions" / f"{os.getpid()}.json"
    record.parent.mkdir(parents=True)
    said = {"pid": os.getpid(), "procStart": start_of(os.getpid()), "sessionId": "one", "statusUpdatedAt": 1}
    record.write_text(json.dumps(said | {"status": kept}), "utf-8")
    found = await looked("claude", "idle")
    assert (found["status"], found["status_source"], found["needs_you"]) == (status, "record", needs)
