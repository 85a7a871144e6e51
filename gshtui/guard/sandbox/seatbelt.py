"""The sandbox of macOS: a profile for `sandbox-exec`, with the same reach as bubblewrap's. Pure.

Written from Apple's own profiles, and never run by its authors: on a Mac, too, the known ways out are tried before
it is relied on. Where it denies a name, a file of that name cannot be made either, so nothing has to be taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PROGRAM = "/usr/bin/sandbox-exec"
_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
    "com.apple.system.notification_center",
    "com.apple.system.logger",
)
"""What the C library asks for users, groups and time zones."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper")


def seatbelt_profile(
    *,
    writable: Iterable[Path],
    kept: Iterable[Path],
    hidden: Iterable[Path],
    temporary: Path,
    network: bool,
) -> str:
    """The profile, in the order in which its rules hold: the last that fits decides.

    Args:
        writable: real folders that can be written.
        kept: paths in them that cannot, whether they exist or not.
        hidden: paths that cannot even be read.
        temporary: the command's own folder for temporary files.
        network: whether the network is the host's.
    """
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-exec process-fork)",
        "(allow signal process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow ipc-posix-sem)",
        f"(allow mach-lookup {' '.join(f'(global-name {_text(name)})' for name in _SERVICES)})",
        "(allow file-read* file-test-existence)",
        f"(allow file-write-data file-ioctl {' '.join(f'(literal {_text(name)})' for name in _DEVICES)})",
        *(f"(allow file-write* (subpath {_text(path)}))" for path in (*writable, temporary)),
        *(f"(deny file-write* (subpath {_text(path)}))" for path in kept),
        *(f"(deny file-read* file-write* (subpath {_text(path)}))" for path in hidden),
        '(deny file-read* file-write* file-ioctl (literal "/dev/tty") (regex #"^/dev/(tty|pty)"))',
    ]
    lines += ["(allow network*)", "(allow system-socket)"] if network else []
    lines.append('(deny network-outbound (remote unix-socket (subpath "/")))')
    return "\n".join(lines) + "\n"


def seatbelt_command(profile: str, argv: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command line that runs `argv` by this profile, with these variables alone."""
    assigned = (f"{name}={value}" for name, value in environ.items())
    return (PROGRAM, "-p", profile, "/usr/bin/env", "-i", *assigned, *argv)


def _text(value: str | Path) -> str:
    """A string of the profile's language. Its only escapes are those of the quote and the backslash."""
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
