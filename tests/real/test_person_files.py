"""The virtual files over SFTP: what OpenSSH's client and one that tries everything can read."""

import inspect
from pathlib import Path

import asyncssh
import pytest

from gshtui.features.ssh.person_files import PersonFiles
from tests.kit.door import Door, door_for
from tests.kit.warm_program import run_gsh


def prepare(folder: Path) -> None:
    (folder / "notes").mkdir()
    (folder / "down").mkdir()
    (folder / "notes" / "a.txt").write_bytes(b"\x00binary\xff" * 50_000)
    (folder / "out").symlink_to("/etc")
    (folder / "passwd").symlink_to("/etc/passwd")
    lines = (
        "create call=audio topic=JACK",
        "join audio",
        "say the first words",
        "create call=secret",
        "remember agent=main key=parser value=winnow",
    )
    done = run_gsh("run", stdin="\n".join(lines).encode(), cwd=folder)
    assert done.code == 0, done.err


async def join(door: Door, who: str, call: str) -> None:
    async with door.connect(who) as connection, connection.create_process() as process:
        process.stdin.write(f"join {call}\nexit\n")
        await process.wait()


async def test_openssh_s_client_reads_and_copies(tmp_path: Path) -> None:
    prepare(tmp_path)
    async with door_for(tmp_path, bo="all") as door:
        out, err, code = await door.sftp(
            "bo",
            "ls -l /",
            "ls /calls",
            "ls -l /calls/audio/conversation",
            "cd /calls/audio/conversation",
            "pwd",
            "get 000.msg",
            "cd ..",
            "pwd",
            "get /memory/main/parser.mem",
            "ls /shared",
            "lcd down",
            "get -r /shared/project/notes",
            "cd ../../../../..",
            "pwd",
        )
        assert code == 0, err
        assert "dr-xr-xr-x" in out and "agents" in out and "memory" in out and "shared" in out
        assert "/calls/secret" in out and "-r--r--r--" in out
        assert "Remote working directory: /calls/audio\n" in out and "Remote working directory: /\n" in out
        assert (tmp_path / "000.msg").read_text().endswith("the first words\n")
        assert "winnow" in (tmp_path / "parser.mem").read_text()
        assert (tmp_path / "down" / "notes" / "a.txt").stat().st_size == 400_000


async def test_a_guest_sees_only_their_calls(tmp_path: Path) -> None:
    prepare(tmp_path)
    async with door_for(tmp_path, amy="talk") as door:
        await join(door, "amy", "audio")
        out, _, code = await door.sftp("amy", "ls /", "ls /calls", "get /calls/audio/conversation/000.msg")
        assert code == 0 and (tmp_path / "000.msg").exists()
        assert "secret" not in out and "memory" not in out and "shared" not in out
        async with door.connect("amy") as connection, connection.start_sftp_client() as sftp:
            for path in (
                "/calls/secret",
                "/calls/secret/conversation/000.msg",
                "/memory",
                "/memory/main/parser.mem",
                "/agents",
                "/shared",
                "/shared/project",
                "/context",
                "/etc/passwd",
                "/calls/audio/../../etc/passwd",
                "/calls/../memory/main/parser.mem",
                "/calls/audio/members/person/.status",
                "/calls/audio/conversation/..\x00/000.msg",
                "/calls/audio/conversation/\u202e1.msg",
                "/calls/AUDIO",
            ):
                with pytest.raises(asyncssh.SFTPError):
                    await sftp.open(path)
                with pytest.raises(asyncssh.SFTPError):
                    await sftp.listdir(path)
            assert await sftp.realpath("/calls/audio/../../../..") == "/"
            assert (await sftp.readlink("/calls/audio/members/amy")) == "/agents/amy"


async def test_links_lead_nowhere_else(tmp_path: Path) -> None:
    prepare(tmp_path)
    async with door_for(tmp_path, bo="all") as door, door.connect("bo") as connection:  # noqa: SIM117
        async with connection.start_sftp_client() as sftp:
            for path in (
                "/shared/project/passwd",
                "/shared/project/out/passwd",
                "/shared/other",
                "/shared/project/../x",
            ):
                with pytest.raises(asyncssh.SFTPError):
                    await sftp.open(path)
            with pytest.raises(asyncssh.SFTPError):
                await sftp.listdir("/shared/project/out")
            assert {"notes", "out", "passwd"} <= set(await sftp.listdir("/shared/project"))


async def test_nothing_can_be_changed(tmp_path: Path) -> None:
    prepare(tmp_path)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    async with door_for(tmp_path, bo="all") as door, door.connect("bo") as connection:
        known = {str(path) for path in tmp_path.rglob("*")}
        async with connection.start_sftp_client() as sftp:
            at = "/shared/project/notes/a.txt"
            tries = (
                sftp.open(at, "w"),
                sftp.open(at, "r+"),
                sftp.open(at, "a"),
                sftp.open("/shared/project/new", "x"),
                sftp.remove(at),
                sftp.rename(at, "/shared/project/b"),
                sftp.posix_rename(at, "/shared/project/b"),
                sftp.mkdir("/shared/project/d"),
                sftp.rmdir("/shared/project/notes"),
                sftp.chmod(at, 0o777),
                sftp.truncate(at, 0),
                sftp.utime(at, (0, 0)),
                sftp.symlink("/etc", "/shared/project/l"),
                sftp.link(at, "/shared/project/h"),
                sftp.statvfs("/shared/project"),
                sftp.chown(at, 0, 0),
                sftp.open("/calls/audio/context/system.prompt", "w"),
                sftp.setstat("/memory", asyncssh.SFTPAttrs()),
            )
            for one in tries:
                with pytest.raises(asyncssh.SFTPError):
                    await one
        assert {str(path) for path in tmp_path.rglob("*")} == known
        assert (tmp_path / "notes" / "a.txt").stat().st_size == 400_000
    assert set(before) <= known


def test_no_method_of_the_library_reaches_the_machine() -> None:
    """The library's own methods serve the real file system: each that takes a path or an open file must be ours."""
    harmless = {"channel", "connection", "env", "logger", "convert_attrs", "format_longname"}
    for name, _ in inspect.getmembers(asyncssh.SFTPServer):
        if not name.startswith("_") and name not in harmless:
            assert name in vars(PersonFiles), name


async def test_too_many_open_files_are_refused(tmp_path: Path) -> None:
    prepare(tmp_path)
    async with door_for(tmp_path, bo="all") as door, door.connect("bo") as connection:  # noqa: SIM117
        async with connection.start_sftp_client() as sftp:
            opened = [await sftp.open("/shared/project/notes/a.txt", "rb") for _ in range(64)]
            with pytest.raises(asyncssh.SFTPError, match="64 files"):
                await sftp.open("/shared/project/notes/a.txt", "rb")
            await opened[0].close()
            assert await (await sftp.open("/shared/project/notes/a.txt", "rb")).read(4) == b"\x00bin"
