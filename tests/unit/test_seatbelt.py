"""The generated profile of macOS, compared with one that was read by people; it is not run here."""

from pathlib import Path

import pytest

from gshtui.guard.sandbox import sandbox as sandbox_module
from gshtui.guard.sandbox.sandbox import ProjectSandbox
from gshtui.guard.sandbox.seatbelt import PROGRAM, seatbelt_profile

READ = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") \
(global-name "com.apple.system.opendirectoryd.membership") (global-name "com.apple.system.notification_center") \
(global-name "com.apple.system.logger"))
(allow file-read* file-test-existence)
(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") \
(literal "/dev/urandom") (literal "/dev/dtracehelper"))
(allow file-write* (subpath "/Users/ann/work"))
(allow file-write* (subpath "/Users/ann/out"))
(allow file-write* (subpath "/private/tmp/gsh-1"))
(deny file-write* (subpath "/Users/ann/work/.git"))
(deny file-read* file-write* (subpath "/Users/ann/.ssh"))
(deny file-read* file-write* file-ioctl (literal "/dev/tty") (regex #"^/dev/(tty|pty)"))
(deny network-outbound (remote unix-socket (subpath "/")))
"""


def profile(**more: bool) -> str:
    return seatbelt_profile(
        writable=[Path("/Users/ann/work"), Path("/Users/ann/out")],
        kept=[Path("/Users/ann/work/.git")],
        hidden=[Path("/Users/ann/.ssh")],
        temporary=Path("/private/tmp/gsh-1"),
        network=more.get("network", False),
    )


def test_the_profile_is_the_one_that_was_read() -> None:
    assert profile() == READ


def test_the_network_is_allowed_but_for_sockets_that_are_files() -> None:
    lines = profile(network=True).splitlines()
    assert [line for line in lines if line not in READ.splitlines()] == ["(allow network*)", "(allow system-socket)"]
    assert lines[-1] == '(deny network-outbound (remote unix-socket (subpath "/")))'


@pytest.mark.parametrize("name", ['a"b', "a\\b", '")(allow default)("', "a\nb", "ä ö"])
def test_no_name_of_a_folder_ends_its_string(name: str) -> None:
    made = seatbelt_profile(writable=[Path("/w") / name], kept=[], hidden=[], temporary=Path("/t"), network=False)
    inside, depth, escaped = False, 0, False
    for character in made:
        if escaped:
            escaped = False
        elif inside and character == "\\":
            escaped = True
        elif character == '"':
            inside = not inside
        elif not inside:
            depth += {"(": 1, ")": -1}.get(character, 0)
    assert (inside, depth) == (False, 0)
    assert "(allow default)" not in made.replace('\\")(allow default)(\\"', "")


def test_a_command_on_a_mac_is_run_by_its_profile_with_its_variables_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_module.Path, "home", lambda: tmp_path / "home")
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    project = tmp_path / "home" / "work"
    project.mkdir()
    made = ProjectSandbox(PROGRAM, project, tmp_path / "kept").command(["make", "all"], project, {"PATH": "/bin"})
    assert made.descriptors == ()
    assert made.argv[:2] == (PROGRAM, "-p")
    assert f'(deny file-read* file-write* (subpath "{tmp_path}/home/.ssh"))' in made.argv[2]
    assert f'(deny file-write* (subpath "{project}/.envrc"))' in made.argv[2], "it is not there, and cannot be made"
    assert made.argv[3:5] == ("/usr/bin/env", "-i")
    assert "PATH=/bin" in made.argv
    assert made.argv[-2:] == ("make", "all")
