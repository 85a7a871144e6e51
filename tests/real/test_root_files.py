"""What a sandboxed command leaves behind with rights of its own, and what only root may read: neither, as any user."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui.commands.declaration import Outcome
from gshtui.guard.sandbox import sandbox
from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap
from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.tool_harness import ToolHarness


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "project"
    made.mkdir()
    return made


@pytest.fixture
def harness(project: Path, tmp_path: Path) -> ToolHarness:
    (tmp_path / "state").mkdir()
    return ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(), (tmp_path / "state",))))


async def in_sandbox(harness: ToolHarness, command: str, **more: Any) -> Outcome:
    bash = harness.commands["bash"]
    return await bash.handler(replace(harness.invocation(), sandboxed=True), bash.parameters(command=command, **more))


@pytest.mark.parametrize(
    "line",
    [
        "cp /bin/sh lent; chmod 4755 lent",
        "cp /bin/sh lent; chmod u+s lent",
        "cp /bin/sh lent; chmod g+s lent",
        "install -m 6755 /bin/sh lent",
        "mkdir lent && chmod 2777 lent",
        "cp /bin/sh x; chmod 755 x; tar cf x.tar --mode=4755 x; tar xpf x.tar",
        "mknod lent c 1 3",
        "mknod lent b 8 0",
        "python3 -c \"import os; os.open('lent', os.O_CREAT | os.O_WRONLY, 0o4755)\"",
        "python3 -c \"import os; os.mknod('lent', 0o104755)\"",
    ],
)
async def test_nothing_with_rights_of_its_own_stays_behind(harness: ToolHarness, project: Path, line: str) -> None:
    done = await in_sandbox(harness, line)
    for path in project.iterdir():
        mode = path.lstat().st_mode
        assert not mode & (stat.S_ISUID | stat.S_ISGID), done.text
        assert not stat.S_ISCHR(mode) | stat.S_ISBLK(mode), done.text


async def test_ordinary_modes_and_files_stay_possible(harness: ToolHarness, project: Path) -> None:
    done = await in_sandbox(
        harness,
        "set -e; cp /bin/sh x; chmod 755 x; chmod 1777 .; umask 077; echo a >y; mkdir z; mkfifo p; install -m 600 y w;"
        " ln -s y l; python3 -c \"import os; os.open('t', os.O_CREAT | os.O_RDWR, 0o640)\"; ./x -c 'cat y'",
    )
    assert done.data == {**done.data, "exit_code": 0, "output": "a\n"}, done.text
    assert (project / "x").stat().st_mode & 0o7777 == 0o755


async def test_where_folders_hand_down_their_group_a_users_programs_may_keep_that(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def seen(_machine: str, *, group_files: bool = False) -> bytes:
        asked.append(group_files)
        return (6).to_bytes(2, "little") + bytes(2) + (0x7FFF0000).to_bytes(4, "little")

    monkeypatch.setattr("gshtui.guard.sandbox.sandbox.system_call_filter", seen)
    sandbox = ProjectSandbox(find_bubblewrap(), project, tmp_path)
    for mode, user in ((0o755, 1000), (0o2755, 1000), (0o2755, 0)):
        project.chmod(mode)
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        for descriptor in sandbox.command(["true"], project, {}).descriptors:
            os.close(descriptor)
    assert asked == [False, True, False]


async def test_root_reads_in_it_what_anybody_may(harness: ToolHarness, project: Path) -> None:
    (project / "look.sh").write_text(
        "cat /etc/shadow /etc/gshadow; ls /etc/ssl/private; head -c 5 /etc/passwd", "utf-8"
    )
    done = await in_sandbox(harness, "sh look.sh 2>/dev/null")
    assert done.data["output"] == "root:"


def test_what_others_may_not_read_is_found_and_a_folder_stands_for_what_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, mode in (("open", 0o644), ("closed", 0o600), ("of/group", 0o640), ("private/key", 0o644)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", "utf-8")
        (tmp_path / name).chmod(mode)
    (tmp_path / "private").chmod(0o700)
    (tmp_path / "link").symlink_to(tmp_path / "closed")
    monkeypatch.setattr(sandbox, "_PLACES", ((str(tmp_path), 2), ("/nowhere", 1)))
    monkeypatch.setattr(sandbox, "_KERNEL", ())
    monkeypatch.setattr(sandbox.time, "monotonic", lambda: 1e9)
    found = {str(path.relative_to(tmp_path)) for path in sandbox.root_files(0)}
    assert found == {"closed", "of/group", "private"}
    assert sandbox.root_files(1000) == ()


async def test_a_project_with_files_that_only_root_may_read_keeps_them(
    harness: ToolHarness, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "mine").write_text("mine\n", "utf-8")
    (project / "mine").chmod(0o600)
    monkeypatch.setattr(sandbox, "_PLACES", ((str(project), 2),))
    monkeypatch.setattr(sandbox.time, "monotonic", lambda: 2e9)
    assert (await in_sandbox(harness, "cat mine; true > out")).data["output"] == "mine\n"
