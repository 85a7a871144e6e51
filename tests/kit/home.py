"""A person's surroundings, made up for one test: home, XDG folders, environment, time zone, language.

Nothing of the machine that runs the tests reaches the program under test: no key, no configuration, no tmux server, no
git identity. Used by the autouse fixture in `tests/conftest.py`; a test that needs a variable sets it itself.
"""

import asyncio
import atexit
import contextlib
import itertools
import os
import shutil
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from gshtui.fleet.keeper.keeper import ends, running_keeper

DEAD = "127.0.0.1:9"
"""An address of this machine where nothing listens (the discard port)."""

_FOLDER = stat.S_IFDIR | 0o700
_NUMBERS = itertools.count()
_SPARE: dict[int, Path] = {}
"""Process → the home of its last test that left it untouched: the next one has it under another name, since making and
removing one is most of what a short test takes where `/tmp` is a disk."""

_ENDING = 3.0
"""Seconds that a server may take to end after it was told to."""

_SCRUBBED_PREFIXES = (
    "GSH_",
    "TMUX",
    "XDG_",
    "GIT_",
    "TEXTUAL",
    "GOOGLE_",
    "CLAUDE",
    "ANTHROPIC_",
    "OPENAI_",
    "GEMINI_",
    "AWS_",
    "AZURE_",
    "CLOUD_ML_",
    "OPENROUTER_",
)
_SCRUBBED_SUFFIXES = ("_API_KEY", "_AUTH_TOKEN", "_ACCESS_TOKEN", "_BASE_URL", "_PROXY", "_proxy")
_SCRUBBED = frozenset(
    {
        *("OLLAMA_HOST", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "EDITOR", "VISUAL", "PAGER", "COLUMNS", "LINES"),
        *("ZDOTDIR", "CDPATH", "LANGUAGE", "PYTHONPATH", "PYTHONSTARTUP", "SSH_CONNECTION", "SSH_TTY", "STY"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
        *("TERM_PROGRAM", "TERM_PROGRAM_VERSION", "KITTY_WINDOW_ID", "VIRTUAL_ENV", "CI"),
    }
)
_PINNED = {
    "TZ": "UTC",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "OLLAMA_HOST": DEAD,
    "TEXTUAL_ANIMATIONS": "none",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "gsh-tui tests",
    "GIT_AUTHOR_EMAIL": "tests@localhost",
    "GIT_COMMITTER_NAME": "gsh-tui tests",
    "GIT_COMMITTER_EMAIL": "tests@localhost",
}


@dataclass(frozen=True, slots=True)
class Home:
    """Where a test's person lives. `runtime` has a short path: a Unix socket's name may have 104 bytes."""

    path: Path
    config: Path
    data: Path
    state: Path
    cache: Path
    runtime: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        return self.path, self.config, self.data, self.state, self.cache, self.runtime

    @property
    def untouched(self) -> bool:
        """Whether nothing was made or changed there, as most tests make nothing."""
        try:
            beside, *inside = map(os.listdir, (self.path.parent, *self.folders))
            modes = {os.lstat(folder).st_mode for folder in self.folders}
            return len(beside) == len(inside) and not any(inside) and modes == {_FOLDER}
        except OSError:  # one is not there any more
            return False


def surroundings(environ: dict[str, str], home: Home) -> dict[str, str]:
    """`environ` without anything personal, pointed at `home`."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _SCRUBBED and not name.startswith(_SCRUBBED_PREFIXES) and not name.endswith(_SCRUBBED_SUFFIXES)
    }
    return (
        kept
        | _PINNED
        | {
            "HOME": str(home.path),
            "XDG_CONFIG_HOME": str(home.config),
            "XDG_DATA_HOME": str(home.data),
            "XDG_STATE_HOME": str(home.state),
            "XDG_CACHE_HOME": str(home.cache),
            "XDG_RUNTIME_DIR": str(home.runtime),
            "TMUX_TMPDIR": str(home.runtime),
            "GSH_HUB__KEEP": "alone",  # a test that wants a keeper says so: one would outlive the test
            "GSH_UI__FIRST_QUESTIONS": "false",  # every test's start would be a first one
        }
    )


@contextlib.contextmanager
def made_up_home() -> Iterator[Home]:
    """A fresh home and environment for this process and its children; everything is put back and removed after."""
    home = _made()
    before = dict(os.environ)
    _become(surroundings(before, home))
    try:
        yield home
    finally:
        _become(before)
        if not home.untouched or _SPARE.setdefault(os.getpid(), home.path.parent) != home.path.parent:
            shutil.rmtree(home.path.parent, ignore_errors=True)


def _made() -> Home:
    """Empty folders, by names that none had before."""
    if (spare := _SPARE.pop(os.getpid(), None)) is not None:
        root = spare.rename(spare.with_name(f"{spare.name.partition('.')[0]}.{next(_NUMBERS)}"))
    else:
        base = "/tmp" if Path("/tmp").is_dir() else None  # short, also where the system's own temporary folder is long
        root = Path(tempfile.mkdtemp(prefix="gsh-", dir=base)).resolve()
    home = Home(root / "home", root / "config", root / "data", root / "state", root / "cache", root / "run")
    if spare is None:
        for folder in home.folders:
            folder.mkdir(mode=0o700)
    return home


@atexit.register
def _remove_spare() -> None:
    if (spare := _SPARE.pop(os.getpid(), None)) is not None:
        shutil.rmtree(spare, ignore_errors=True)


def servers_left(home: Home, *, within: float = _ENDING) -> list[Path]:
    """The sockets in its runtime folder behind which a process still listens: a tmux server, a keeper, a hub.

    One that is just ending is waited for, for so many seconds.
    """
    ends = time.monotonic() + within
    return [path for path in _sockets(home.runtime) if _is_served(path, ends)]


def end_hub_of_agents(home: Home) -> None:
    """Have the hub end now that was there for native agents, and would end soon after the last one."""
    if (found := running_keeper(home.data / "gsh")) is not None:
        assert asyncio.run(ends(found.process, 20.0, signal.SIGTERM))


def end_servers(home: Home) -> None:
    """End every process that was started in this home."""
    import psutil

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get("XDG_RUNTIME_DIR") == str(home.runtime):
                process.kill()


def _sockets(folder: Path) -> Iterator[Path]:
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.lstat(f"{path}/{name}").st_mode):
                    yield Path(path, name)


def _is_served(path: Path, ends: float) -> bool:
    while True:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(max(0.1, ends - time.monotonic()))
            try:
                asked.connect(str(path))
            except OSError as error:
                return isinstance(error, TimeoutError)  # its queue is full: somebody has it open
            if time.monotonic() >= ends:
                return True
            with contextlib.suppress(OSError):
                while asked.recv(4096) and time.monotonic() < ends:  # until it ends, or the time is over
                    pass


def _become(environ: dict[str, str]) -> None:
    """Make the process's environment this one, variable by variable, and tell the C library the time zone."""
    now = dict(os.environ)  # each look at `os.environ` itself encodes and decodes
    for name in now.keys() - environ.keys():
        del os.environ[name]
    for name, value in environ.items():
        if now.get(name) != value:
            os.environ[name] = value
    time.tzset()


def with_home(home: str) -> list[str]:
    """The processes that have this home."""
    found: list[str] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get("HOME") == home:
                found.append(f"{process.pid} {process.name()}")
    return found
