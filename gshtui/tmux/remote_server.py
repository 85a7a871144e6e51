"""A tmux server on another machine: whether it runs, its start, and the end of a pane with all that it started.

Each is one POSIX script over the host's link, since neither libtmux nor our view of processes reaches there. Nothing is
left there but tmux itself, which ends with its last session.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLink, HostReply
from gshtui.hosts.remote_shell import LOGIN_PATH, path_line
from gshtui.text.sanitise import one_line
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.tmux_errors import TmuxError, from_host, from_reply, no_such_pane

CONF = Path(__file__).with_name("gsh.conf")

_FOLDER = r"""
case "$1" in
'') cd ;;
'~') cd ;;
'~/'*) cd -- "$HOME/${1#??}" ;;
*) cd -- "$1" ;;
esac 2>/dev/null || exit 66
pwd
"""

_MISSING = 67
_HAS_PROGRAM = LOGIN_PATH + f"""cd -- "$2" 2>/dev/null; command -v -- "$1" >/dev/null 2>&1 || exit {_MISSING}"""

# A server that speaks no UTF-8 would draw every program in ASCII.
_START = (
    r"""
config=$(cat)
if tmux_ show-options -s exit-empty >/dev/null 2>&1; then exit 0; fi
"""
    + LOGIN_PATH
    + r"""
case "${LC_ALL:-${LC_CTYPE:-$LANG}}" in
*[Uu][Tt][Ff]*) ;;
*) unset LC_ALL; LC_CTYPE=C.UTF-8; export LC_CTYPE ;;
esac
unset SSH_CONNECTION SSH_CLIENT SSH_TTY SSH_ORIGINAL_COMMAND SHLVL PWD OLDPWD
cd / && printf '%s\n' "$config" | tmux_ -f /dev/null start-server ';' set-option -s exit-empty off ';' source-file -
"""
)

# Every process: its pid, its parent's, its group's (or session's) and its state.
_PROCESSES = r"""
processes() {
    if [ -r /proc/self/stat ]; then
        for file in /proc/[0-9]*/stat; do
            read -r line <"$file" || continue
            number=${file#/proc/}
            set -- ${line##*) }
            echo "${number%/stat} $2 $4 $1"
        done 2>/dev/null
    else
        ps -A -o pid= -o ppid= -o pgid= -o state=
    fi
}
"""

# What a pane's program started is stopped until nothing new is found: a stopped process starts no other one.
_SIGNAL = (
    _PROCESSES
    + r"""
leader=$1 pane=$2 signal=$3
shift 3
[ "$(tmux_ display-message -p -t "$pane" '#{pane_pid}')" = "$leader" ] || exit 65
below() {
    processes | awk -v "first=$leader" '
        { above[$1] = $2 }
        END {
            ours[first] = 1
            do {
                more = 0
                for (one in above) if (!(one in ours) && (above[one] in ours)) { ours[one] = 1; more = 1 }
            } while (more)
            for (one in ours) if (one != first && one > 1) print one
        }'
}
told=' '
while :; do
    fresh=
    for one in $(below); do
        case "$told" in *" $one "*) ;; *) fresh="$fresh $one" ;; esac
    done
    [ -n "$fresh" ] || break
    kill "-$signal" $fresh 2>/dev/null
    told="$told$fresh "
done
"""
)

_END_CLIENTS = r"""
for one in "$@"; do
    case "$(ps -o comm= -p "$one" 2>/dev/null)" in *tmux*) kill -KILL "$one" ;; esac
done
"""

# A pane's family: its first process, what descends from it, its session, and what carries the pane in its environment.
_END = (
    _PROCESSES
    + r"""
leader=$1 pane=$2 grace=$3
shift 3
marked() {
    [ -r /proc/self/environ ] || return 0
    socket=$(tmux_ display-message -p '#{socket_path},#{pid},' 2>/dev/null) || return 0
    for file in $(grep -lzx "TMUX_PANE=$pane" /proc/[0-9]*/environ 2>/dev/null); do
        if tr '\0' '\n' <"$file" 2>/dev/null | grep -q "^TMUX=$socket"; then
            number=${file#/proc/}
            echo "${number%/environ}"
        fi
    done
}
family() {
    processes | awk -v "first=$leader $(marked | tr '\n' ' ')" '
        BEGIN { count = split(first, given, " "); for (i = 1; i <= count; i++) ours[given[i]] = 1 }
        $4 !~ /^Z/ { above[$1] = $2; if ($3 == given[1]) ours[$1] = 1 }
        END {
            do {
                more = 0
                for (one in above) if (!(one in ours) && (above[one] in ours)) { ours[one] = 1; more = 1 }
            } while (more)
            for (one in ours) if ((one in above) && one > 1) print one
        }'
}
living() {
    for one in $all; do if kill -0 "$one" 2>/dev/null && ! zombie "$one"; then printf '%s ' "$one"; fi; done
}
zombie() {
    [ -r "/proc/$1/stat" ] && read -r line <"/proc/$1/stat" 2>/dev/null || return 1
    case "${line##*) }" in Z*) return 0 ;; esac
    return 1
}
wait_for() {
    looks=$1
    while [ "$looks" -gt 0 ]; do
        left=$(living)
        [ -n "$left" ] || return 0
        sleep 0.1 2>/dev/null || sleep 1
        looks=$((looks - 1))
    done
    left=$(living)
    [ -z "$left" ]
}
all=$(family)
tmux_ kill-pane -t "$pane" || exit 65
wait_for $((grace * 3)) || { kill -TERM $left; kill -CONT $left; wait_for $((grace * 7)); } 2>/dev/null ||
    { kill -KILL $left; wait_for 10; } 2>/dev/null || echo "$left"
"""
)


class RemoteServer:
    """One tmux server, by its link and the arguments that name its socket."""

    def __init__(self, link: HostLink, address: Sequence[str]) -> None:
        self._link = link
        self._address = tuple(address)

    async def running(self) -> bool:
        """Whether a server answers. Raises `TmuxError` (timeout, unreachable)."""
        reply = await self._run("tmux_ list-sessions -F x >/dev/null")
        return reply.status == 0 or _said(reply).kind != "gone"

    async def start(self) -> None:
        """Start a server unless one runs; it ends with its last session. Raises `TmuxError`."""
        reply = await self._run(_START, stdin=CONF.read_bytes())
        if reply.status:
            raise _said(reply)

    async def release(self) -> None:
        """Nothing is to be done: the first session that is made has the server end with its last."""

    async def folder(self, path: str) -> str:
        """The full path of a folder there; `~` and empty mean the home folder. Raises `TmuxError` (refused)."""
        reply = await self._run(_FOLDER, path)
        found = reply.output.decode("utf-8", "replace").rstrip("\n")
        if reply.status or not found.startswith("/"):
            text = f"There is no folder {one_line(path or '~', 200)} on {self._link.name}."
            raise TmuxError("refused", text, "Choose another folder there.")
        return found

    async def has_program(self, word: str, folder: str) -> bool:
        """Whether a program can be started there, in this folder. Raises `TmuxError`."""
        return (await self._run(_HAS_PROGRAM, word, folder)).status != _MISSING

    async def end_pane(self, info: PaneInfo, grace: float) -> None:
        """End a pane and all that it started, within `grace` seconds and a little. Raises `TmuxError`."""
        reply = await self._run(_END, str(info.pid), info.pane, str(max(1, round(grace))), deadline=3 * grace + 20.0)
        if reply.status:
            raise _said(reply)
        if left := one_line(reply.output.decode("utf-8", "replace"), 200).strip():
            text = f"The terminal was closed, but these processes on {self._link.name} are still running: {left}."
            raise TmuxError("refused", text)

    async def signal_below(self, pane: str, leader: int, *, stop: bool) -> None:
        """Stop what a pane's first program (`leader`) has started, or let it go on; the program itself is left alone.
        Raises `TmuxError`: no_such_pane, when the pane has another program now; unreachable, timeout.
        """
        reply = await self._run(_SIGNAL, str(leader), pane, "STOP" if stop else "CONT")
        if reply.status == 65:
            raise no_such_pane(pane)

    async def end_clients(self, pids: Sequence[str]) -> None:
        """End clients of the server that nobody is behind any more. Raises `TmuxError`."""
        await self._run(_END_CLIENTS, *pids)

    async def _run(self, script: str, *arguments: str, stdin: bytes = b"", deadline: float = 20.0) -> HostReply:
        settings = self._link.settings
        tmux = shlex.join((settings.tmux, "-u", *self._address))
        head = f'{path_line(settings.path)}unset TMUX TMUX_PANE\ntmux_() {{ {tmux} "$@"; }}\n'
        try:
            return await self._link.run(head + script, *arguments, stdin=stdin, deadline=deadline)
        except HostError as error:
            raise from_host(error) from error


def _said(reply: HostReply) -> TmuxError:
    return from_reply(reply.errors.decode("utf-8", "replace"))
