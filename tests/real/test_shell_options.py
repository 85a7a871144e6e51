"""Both plugins under the person's own options, traps, aliases and names: nobody notices them, and they hear everything.

Each case is run in a terminal of its own with the plugin and without it.
"""

import os
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gshtui.headless.shells.shell_plugin import inspect_shells, status_text
from gshtui.settings.loader import load
from tests.kit.home import Home
from tests.kit.pty_child import PtyChild
from tests.kit.reporting_hub import spooled
from tests.kit.shells import BASH_PLUGIN, PLUGIN
from tests.kit.storms import FULL

LINES = (
    "true one two",
    'echo "last: $_"',
    "false | true | (exit 3)",
    "echo $?",
    "if false; then :; fi; echo 'a   b' \"c*\"",
    "cd / && pwd",
    "f() { echo in f; return 4; }",
    "f || echo $?",
    "! true",
    "(exit 2) || true",
)
"""Typed where nothing else is said."""
_END = "exit 5"


@dataclass(frozen=True)
class Case:
    before: str = ""
    """In the start-up file, before the plugin's line; `after` behind it."""
    after: str = ""
    typed: tuple[str, ...] = ()
    """Lines before the others."""
    lines: tuple[str, ...] = LINES
    options: tuple[str, ...] = ()
    """Of the shell's own command line."""
    noisy_once: bool = False
    pipes: bool = True
    """False: the shell itself has lost the statuses of the pipeline by its prompt."""


NO_FAILURE = tuple(line for line in LINES if "exit 3" not in line and line not in ("! true", "(exit 2) || true"))
_NAMES = "cd local read printf command echo test source history set shift unset trap export declare type eval shopt let"


def _shadowed(names: str) -> str:
    return "; ".join(f"{name}() {{ echo FUNCTION; }}" for name in names.split())


BASH = {
    "-e typed": Case(typed=("set -e",), lines=(*NO_FAILURE, "! true", "echo lives")),
    "-e": Case("set -e", lines=(*NO_FAILURE, "! true")),
    "-e ends": Case(typed=("set -e",), lines=("true", "false")),
    "-u": Case("set -u"),
    "-u typed": Case(typed=("set -u",)),
    "-eu pipefail": Case(typed=("set -euo pipefail",), lines=NO_FAILURE),
    "pipefail": Case("set -o pipefail"),
    "ERR": Case("trap 'echo ERR $?' ERR"),
    "-E ERR": Case("set -E; trap 'echo ERR $?' ERR"),
    "-E ERR typed": Case(typed=("trap 'echo ERR $? $BASH_COMMAND' ERR; set -E",)),
    "DEBUG": Case("trap 'echo DEBUG $? $BASH_COMMAND' DEBUG"),
    "DEBUG after": Case(after="trap 'echo DEBUG $? $BASH_COMMAND' DEBUG"),
    "DEBUG typed": Case(typed=("trap 'echo DEBUG $? $BASH_COMMAND' DEBUG",), noisy_once=True),
    "DEBUG extdebug": Case("shopt -s extdebug; trap '[[ $BASH_COMMAND != *one* ]]' DEBUG", typed=(": first",)),
    "-T RETURN": Case("set -T; trap 'echo RETURN' RETURN"),
    "-T RETURN typed": Case(typed=("trap 'echo RETURN' RETURN; set -T",)),
    "-T DEBUG": Case("set -T; trap 'echo DEBUG $BASH_COMMAND' DEBUG"),
    "EXIT": Case("trap 'echo BYE $?' EXIT"),
    "EXIT after": Case(after="trap 'echo BYE $?' EXIT"),
    "-f": Case("set -f"),
    "-C": Case("set -C"),
    "-a": Case("set -a"),
    "-k": Case("set -k"),
    "-n": Case(typed=("set -n",)),
    "-x": Case(typed=("set -x",), lines=LINES[3:]),
    "-b": Case("set -b"),
    "no -B": Case("set +B"),
    "posix": Case("set -o posix"),
    "posix typed": Case(typed=("set -o posix",)),
    "globs": Case("shopt -s nullglob failglob nocasematch extglob dotglob globstar nocaseglob"),
    "failglob": Case(typed=("shopt -s failglob",)),
    "inherit": Case("declare -i status text; declare -u line entry; shopt -s localvar_inherit"),
    "aliases": Case("; ".join(f"alias {name}='echo ALIAS'" for name in _NAMES.split() if name not in ("cd", "echo"))),
    "alias cd": Case("alias cd='echo CD'"),
    "functions": Case(
        _shadowed("local read printf command test source history let"),
    ),
    "functions of special ones": Case(
        _shadowed("set shift unset export declare type eval shopt"),
    ),
    "IFS": Case("IFS='0123456789'"),
    "IFS empty": Case("IFS="),
    "IFS unset": Case("unset IFS"),
    "IFS typed": Case(typed=("IFS=/_g",)),
    "IFS read-only": Case("readonly IFS"),
    "read-only": Case("readonly REPLY=r line=l entry=e status=s host=h text=t file=f command=c part=p LC_ALL OLDIFS=o"),
    "read-only time": Case("readonly HISTTIMEFORMAT='%F %T '"),
    "time": Case("HISTTIMEFORMAT='%s '"),
    "integers": Case("declare -i number=1 took=2 REPLY=3"),
    "PS0": Case("PS0='run '"),
    "PROMPT_COMMAND": Case("PROMPT_COMMAND='echo prompt $?'"),
    "PROMPT_COMMAND list": Case("PROMPT_COMMAND=('echo one $? ${PIPESTATUS[*]}' 'echo two $?')"),
    "PROMPT_COMMAND after": Case(after="PROMPT_COMMAND='echo prompt $?'"),
    "PROMPT_COMMAND none typed": Case(typed=("unset PROMPT_COMMAND",)),
    "PROMPT_COMMAND list typed": Case(typed=("PROMPT_COMMAND=('echo one $?' 'echo two $?')",)),
    "PROMPT_COMMAND more": Case(after="PROMPT_COMMAND+=('echo one $?' 'echo two ${PIPESTATUS[*]}')"),
    "PROMPT_COMMAND pipes": Case("PROMPT_COMMAND='echo prompt $? ${PIPESTATUS[*]}'"),
    "PROMPT_COMMAND typed": Case("PROMPT_COMMAND='echo first'", typed=("PROMPT_COMMAND='echo prompt $?'",)),
    "PROMPT_COMMAND exported": Case("export PROMPT_COMMAND='echo prompt $?'"),
    "PROMPT_COMMAND fails": Case("PROMPT_COMMAND='false; echo $nothing'; set -u"),
    "before lists": Case(after="_gsh_lists=0; unset PROMPT_COMMAND; PROMPT_COMMAND='echo prompt $?'; _gsh_hook"),
    "before lists, ERR": Case(after="_gsh_lists=0; unset PROMPT_COMMAND; _gsh_hook; trap 'echo ERR $?' ERR; set -E"),
    "TMOUT": Case("readonly TMOUT=600"),
    "no HOME": Case("unset HOME"),
    "HISTCONTROL": Case("HISTCONTROL=erasedups:ignoredups"),
    "HISTSIZE": Case("HISTSIZE=2"),
    "lithist": Case("shopt -s lithist; shopt -u cmdhist"),
    "lastpipe": Case("set +m; shopt -s lastpipe"),
    "compatible": Case("BASH_COMPAT=4.2"),
    "expand_aliases": Case("shopt -u expand_aliases"),
}
ZSH_NAMES = "print shift export trap exec zle setopt unsetopt emulate zmodload autoload read printf test source"
ZSH = {
    "err_exit": Case(typed=("set -e",), lines=(*NO_FAILURE, "! true", "echo lives")),
    "err_exit before": Case("setopt err_exit", lines=(*NO_FAILURE, "! true")),
    "err_exit ends": Case(typed=("set -e",), lines=("true", "false")),
    "err_return": Case("setopt err_return"),
    "no_unset": Case("setopt no_unset"),
    "all": Case(typed=("set -euo pipefail",), lines=NO_FAILURE),
    "ksh_arrays": Case("setopt ksh_arrays"),
    "sh_word_split": Case("setopt sh_word_split glob_subst null_glob"),
    "csh_null_glob": Case("setopt csh_null_glob no_nomatch"),
    "posix": Case("setopt posix_builtins posix_identifiers posix_strings posix_traps posix_jobs posix_cd"),
    "posix_aliases": Case("setopt posix_aliases"),
    "warn_create_global": Case("setopt warn_create_global warn_nested_var"),
    "typeset_silent": Case("setopt no_typeset_silent typeset_to_unset"),
    "xtrace": Case(typed=("setopt xtrace",)),
    "verbose": Case("setopt no_clobber no_append_create no_rcs"),
    "local_options": Case("setopt local_options local_traps local_patterns"),
    "all_export": Case("setopt all_export"),
    "no_exec": Case(typed=("setopt no_bang_hist",)),
    "ksh": Case("emulate ksh"),
    "sh": Case(typed=("emulate sh",)),
    "no_multibyte": Case("setopt no_multibyte no_short_loops ignore_braces rc_quotes"),
    "octal": Case("setopt octal_zeroes c_bases force_float c_precedences"),
    "no_function_argzero": Case("setopt no_function_argzero no_eval_lineno"),
    "ERR": Case("trap 'echo ERR $?' ZERR", pipes=False),
    "TRAPZERR": Case("TRAPZERR() { echo ZERR $? }"),
    "DEBUG": Case("trap ': DEBUG $ZSH_DEBUG_CMD' DEBUG", pipes=False),
    "DEBUG typed": Case(typed=("trap ': DEBUG' DEBUG",), pipes=False),
    "EXIT": Case("trap 'echo BYE $?' EXIT"),
    "aliases": Case("; ".join(f"alias {name}='echo ALIAS'" for name in ("local typeset " + ZSH_NAMES).split())),
    "global aliases": Case("alias -g one='two' true_='x' ; alias -g -- '-f=ALIAS' ; alias -g '0=ALIAS'"),
    "functions": Case(_shadowed(ZSH_NAMES)),
    "read-only": Case("typeset -r REPLY=r line=l text=t cwd=c typed=y command=d hub=h now=1 reply_=1"),
    "integers": Case("typeset -i took=1 text=2 cut=3; typeset -a REPLY; typeset -A found"),
    "IFS": Case("IFS=0123456789"),
    "IFS empty": Case("IFS="),
    "precmd replaced": Case(after="precmd_functions=(); precmd() { echo prompt $? }"),
    "precmd replaced typed": Case(typed=("precmd_functions=()",)),
    "preexec replaced typed": Case(typed=("preexec_functions=()",)),
    "hooks unset": Case(typed=("unset preexec_functions precmd_functions zshexit_functions chpwd_functions",)),
    "precmd sees": Case("precmd() { echo prompt $? ${pipestatus[*]} }"),
    "preexec": Case("preexec() { echo running ${#1} }"),
    "TMOUT": Case("TMOUT=600"),
    "no HOME": Case("unset HOME; unset XDG_RUNTIME_DIR"),
    "no history": Case("HISTSIZE=0; setopt hist_ignore_all_dups hist_no_store"),
    "prompt_subst": Case("setopt prompt_subst prompt_percent transient_rprompt"),
    "chpwd": Case("chpwd() { echo moved }"),
    "cdable": Case("setopt auto_cd auto_pushd cdable_vars chase_links pushd_ignore_dups"),
}


class Terminal:
    """A shell of this machine in a terminal, with or without the plugin; what it printed for each line."""

    def __init__(self, shell: str, case: Case, plugin: bool) -> None:
        home = Path(os.environ["HOME"])
        source = ""
        if shell == "zsh":
            source = f"'builtin' 'source' {PLUGIN}" if plugin else ""
            start = "unsetopt global_rcs prompt_cr prompt_sp zle; PS1='<<%?>>'"
            argv = [shutil.which("zsh") or "zsh", "-d", "-i"]
        else:
            source = f"'builtin' 'source' {BASH_PLUGIN}" if plugin else ""
            start = "PS1='<<$?>>'"
            argv = [shutil.which("bash") or "bash", "--noediting", "-i", *case.options]
        (home / f".{shell}rc").write_text(f"{start}\n{case.before}\n{source}\n{case.after}\n")
        (home / f".{shell}_history").write_text("")
        os.environ.pop("ZDOTDIR", None)
        self.child = PtyChild(argv, home)
        self.child.go()
        self.printed: list[str] = []
        self.code: int | None = None
        try:
            self._wait(0)
            for line in (*case.typed, *case.lines):
                if not self._run(line):
                    break
            else:
                self._run(_END)
            if self.code is None:
                self.child.read_until(self._ended, 20.0)
        finally:
            self.child.close()

    def _run(self, line: str) -> bool:
        start = len(self.child.output)
        prompts = self._prompts()
        self.child.write(line.encode() + b"\n")
        self._wait(prompts)
        self.printed.append(self.child.output[start:].decode().partition("\n")[2].replace("\r", ""))
        return self.code is None

    def _prompts(self) -> int:
        return len(re.findall(rb"<<\d+>>", self.child.output))

    def _wait(self, prompts: int) -> None:
        self.child.read_until(lambda: self._prompts() > prompts or self._ended(), 20.0)

    def _ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.child.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self.child.pid = 0
                self.child.read_rest()
        return self.code is not None


def told(home: Home) -> list[tuple[str, int, list[int]]]:
    """Each command with its status and those of its pipeline."""
    lines = spooled(home.data)
    ends = {line["number"]: line for line in lines if line["type"] == "ShellCommandFinished"}
    return [
        (line["command"], ends[line["number"]]["exit"], ends[line["number"]]["pipestatus"])
        for line in lines
        if line["type"] == "ShellCommandStarted" and line["number"] in ends
    ]


def check(home: Home, shell: str, case: Case) -> None:
    plain = Terminal(shell, case, plugin=False)
    assert spooled(home.data) == []
    ours = Terminal(shell, case, plugin=True)
    if case.noisy_once:  # a new trap is called for what is ours until it is wrapped, at the prompt after it
        ours.printed[0] = plain.printed[0]
    assert ours.printed == plain.printed
    assert ours.code == plain.code
    lines = [*case.typed, *case.lines][: len(plain.printed)]
    if len(lines) == len(case.typed) + len(case.lines) and plain.code != 5:
        lines = lines[:-1]  # it ended the shell, so nobody heard of its end
    heard = told(home)
    assert [command for command, _, _ in heard] == lines[: len(heard)] and len(heard) >= len(lines) - 1
    prompts = [re.findall(r"<<(\d+)>>", text) for text in plain.printed]
    assert [exit for _, exit, _ in heard] == [int(found[-1]) for found in prompts[: len(heard)]]
    pipes = {command: pipe for command, _, pipe in heard}
    if case.pipes and "false | true | (exit 3)" in pipes:
        assert pipes["false | true | (exit 3)"] == [1, 0, 3]


def share(cases: dict[str, Case]) -> list[str]:
    """Every third one, unless all are asked for."""
    return list(cases)[:: 1 if FULL else 3]


@pytest.mark.parametrize("name", share(BASH))
def test_bash(home: Home, name: str) -> None:
    check(home, "bash", BASH[name])


@pytest.mark.parametrize("name", share(ZSH))
def test_zsh(home: Home, name: str) -> None:
    check(home, "zsh", ZSH[name])


SILENT = {
    "restricted": Case(options=("-r",), lines=("true",)),
    "PROMPT_COMMAND is read-only": Case("readonly PROMPT_COMMAND='echo prompt'", lines=("true",)),
    "sets PROMPT_COMMAND anew": Case(after="unset PROMPT_COMMAND", lines=("true", "false")),
    "its history is off": Case("HISTSIZE=0", typed=("true",), lines=("true",)),
    "history": Case(typed=("set +o history",), lines=("true",)),
    "cannot be written": Case("XDG_DATA_HOME=/proc/self", typed=("true",), lines=("true",)),
}


@pytest.mark.parametrize("why", list(SILENT))
def test_what_bash_cannot_hear_is_said(home: Home, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is printed, nothing changes, and `shell status` says why nothing is recorded."""
    case = SILENT[why]
    plain = Terminal("bash", case, plugin=False)
    asked = replace(case, lines=(*case.lines, "echo [$GSH_SHELL_STATE][${GSH_SHELL_ID-}]"))
    ours = Terminal("bash", asked, plugin=True)
    (state, id), *_ = re.findall(r"\[(.*)\]\[(.*)\]", ours.printed[-2])
    del ours.printed[-2]
    assert ours.printed == plain.printed
    assert told(home) == [] or case.typed[:1] == ("set +o history",)
    monkeypatch.setenv("GSH_SHELL_STATE", state)
    monkeypatch.setenv("GSH_SHELL_ID", id)
    (line,) = [row for row in status_text(inspect_shells(load(home.path))).splitlines() if row.startswith("this shell")]
    assert "does not report: " in line and why in line
