"""The table of programs: which of them only read, which build and test, and the flags and operands that keep it so.

Data, and how a command's words are read by it. A program, a subcommand or a flag that is not here is not known, and
what is not known is asked about. Pure. Used by the policy.

A line of the table names its flags in one string: `-a` and `--all` stand alone; `-n:number` takes the next word or the
rest of its own; `--lines=number` takes a value behind `=` only; `--color[=text]` may; `-#` is `-20` and its like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["path", "text", "number", "rev"]
"""What a word may be. path: inside the project, no secret. rev: a git revision or a path."""
Use = Literal["read", "build", "change"]
"""read: needs no question. build: runs the project's own code, as `--yes` lets it. change: is asked about."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is permitted of one program or subcommand."""

    use: Use
    alone: frozenset[str]
    valued: dict[str, Kind]
    """Flags whose value is the next word, or what follows a short one."""
    behind: dict[str, Kind]
    """Long flags whose value stands behind `=`."""
    first: Kind | None
    """Kind of the first operand, where it differs from the others."""
    rest: Kind | None
    """Kind of the other operands; `None`: there are none."""
    most: int
    numbers: bool
    """`-20` is permitted."""
    words: bool
    """Flags are whole words with one dash, as those of `find` and `go`."""
    built_in: bool
    """bash's own, and no file on the PATH."""
    globs: bool
    """No file's name can be a flag that does harm: `*` may be its first letter."""
    instead: frozenset[str]
    """Flags that take the place of the first operand, as `-e` of grep does."""
    check: Callable[[Sequence[str]], str] | None
    """Why these arguments are not permitted after all, or empty."""


@dataclass(slots=True)
class ProgramReading:
    """A command's words, read by the table."""

    program: Program
    name: str
    """Program and subcommand."""
    flags: list[str] = field(default_factory=list[str])
    operands: list[tuple[int, Kind]] = field(default_factory=list[tuple[int, Kind]])
    """(place among the words, kind) of operands and of values that are paths or revisions."""
    problem: tuple[str, str] = ("", "")
    """(rule, why) of the first thing that the table does not permit."""


TABLE: dict[str, Program] = {}
_NUMBER = re.compile(r"[+-]?\d{1,12}(?:[.,]\d+)?[A-Za-z%]{0,3}")
_FLAG = re.compile(r"(-[^-:=\[\s][^:=\[\s]*|--[^:=\[\s]+)(?:(\[=|=|:)(path|text|number|rev)\]?)?")


def _kind(name: str) -> Kind:
    kinds: dict[str, Kind] = {"path": "path", "text": "text", "number": "number", "rev": "rev"}
    return kinds[name]


def _add(
    names: str,
    flags: str = "",
    operands: str = "path",
    *,
    use: Use = "read",
    most: int = 1_000,
    words: bool = False,
    built_in: bool = False,
    globs: bool = False,
    instead: str = "",
    check: Callable[[Sequence[str]], str] | None = None,
) -> None:
    alone: set[str] = set()
    valued: dict[str, Kind] = {}
    behind: dict[str, Kind] = {}
    for flag in flags.split():
        match = _FLAG.fullmatch(flag)
        if match is None:
            raise ValueError(f"{names}: {flag} is no flag of the table's form")
        name, sign = match.group(1), match.group(2)
        if sign:
            (valued if sign == ":" else behind)[name] = _kind(match.group(3))
        if sign is None or sign == "[=":
            alone.add(name)
    kinds = operands.split()
    rest = None if kinds == ["none"] else _kind(kinds[-1])
    first = _kind(kinds[0]) if len(kinds) > 1 else None
    program = Program(
        use,
        frozenset(alone),
        valued,
        behind,
        first,
        rest,
        0 if rest is None else most,
        "-#" in alone,
        words,
        built_in,
        globs,
        frozenset(instead.split()),
        check,
    )
    for name in names.split(","):
        TABLE[name.strip()] = program


def read_words(words: Sequence[str]) -> ProgramReading | None:
    """The words as the table has them; `None` for a program or a subcommand that it has not."""
    start, name = _named(words)
    program = TABLE.get(name)
    if program is None:
        return None
    reading = ProgramReading(program, name)
    found = next(_problems(reading, words, start), None)
    if found is None and program.check is not None and (why := program.check(words[start:])):
        found = ("argument", why)
    reading.problem = found or ("", "")
    return reading


def _named(words: Sequence[str]) -> tuple[int, str]:
    """How many words name the program and its subcommand, and that name."""
    if words[0] == "git":
        skip = 1
        while words[skip : skip + 1] and words[skip] in ("--no-pager", "-P", "--no-optional-locks"):
            skip += 1
        for length in (2, 1):
            if (name := " ".join(("git", *words[skip : skip + length]))) in TABLE and name != "git":
                return skip + length, name
        return skip, "git"
    for length in (4, 3, 2, 1):
        if (name := " ".join(words[:length])) in TABLE and len(words) >= length:
            return length, name
    return 1, words[0]


def _problems(reading: ProgramReading, words: Sequence[str], start: int) -> Iterator[tuple[str, str]]:
    program, name, at, ended = reading.program, reading.name, start, False
    operands = 0
    while at < len(words):
        word = words[at]
        if not ended and word == "--":
            ended = True
        elif not ended and len(word) > 1 and word[0] == "-":
            at, why = _flag(reading, words, at)
            if why:
                yield "flag", f"`{name}` is not known to be harmless with {word[:60]}{why.removesuffix('.')}"
                return
            if program.instead.intersection(reading.flags):
                operands = max(operands, 1)
        else:
            operands += 1
            kind = program.first if operands == 1 and program.first else program.rest
            if kind is None or operands > program.most:
                yield "operand", f"`{name}` is only known to be harmless without {word[:60]}"
                return
            if kind == "number" and not _NUMBER.fullmatch(word):
                yield "operand", f"{word[:60]} is no number"
                return
            reading.operands.append((at, kind))
        at += 1


def _flag(reading: ProgramReading, words: Sequence[str], at: int) -> tuple[int, str]:
    """The place of the last word that the flag takes, and why it is not permitted (empty: it is)."""
    program, word = reading.program, words[at]
    whole, sign, value = word.partition("=")
    if sign and whole in program.behind:
        reading.flags.append(whole)
        return at, _value(reading, program.behind[whole], value, at, apart=False)
    if word in program.alone:
        reading.flags.append(word)
        return at, ""
    if word in program.valued:
        reading.flags.append(word)
        if at + 1 >= len(words):
            return at, ", which lacks its value"
        return at + 1, _value(reading, program.valued[word], words[at + 1], at + 1, apart=True)
    if program.words and sign and whole in program.valued:
        reading.flags.append(whole)
        return at, _value(reading, program.valued[whole], value, at, apart=False)
    if program.numbers and re.fullmatch(r"-\d{1,9}", word):
        reading.flags.append("-#")
        return at, ""
    if word.startswith("--") or program.words:
        return at, "."
    return _cluster(reading, words, at)


def _cluster(reading: ProgramReading, words: Sequence[str], at: int) -> tuple[int, str]:
    """Letters run together, the last of them perhaps with its value."""
    program, letters = reading.program, words[at][1:]
    for place, letter in enumerate(letters):
        flag = f"-{letter}"
        if flag in program.alone:
            reading.flags.append(flag)
        elif flag in program.valued:
            reading.flags.append(flag)
            rest = letters[place + 1 :]
            if rest:
                return at, _value(reading, program.valued[flag], rest, at, apart=False)
            if at + 1 >= len(words):
                return at, ", which lacks its value"
            return at + 1, _value(reading, program.valued[flag], words[at + 1], at + 1, apart=True)
        else:
            return at, "."
    return at, ""


def _value(reading: ProgramReading, kind: Kind, value: str, at: int, *, apart: bool) -> str:
    if kind == "number" and not _NUMBER.fullmatch(value):
        return ", whose value is no number"
    if kind in ("path", "rev"):
        if not apart:
            return ", whose path is to stand as a word of its own"
        reading.operands.append((at, kind))
    return ""


def _only_prints(arguments: Sequence[str]) -> str:
    script = next((word for word in arguments if not word.startswith("-")), "")
    printing = re.fullmatch(
        r"(?:(?:\d+|\$)(?:,(?:\d+|\$|\+\d+))?[pq=]|/[^/\\\n]+/(?:,/[^/\\\n]+/)?[pI]{1,2}|;)+", script
    )
    return "" if printing or _replaces(script) else "a script of sed can write files and run commands"


def _replaces(script: str) -> bool:
    """Whether a script of sed is one substitution, such as `s/old/new/g`, whose flags neither write nor run."""
    mark = script[1:2]
    if script[:1] != "s" or mark not in ("/", "|", ",", "#") or "\n" in script or "\\" in script:
        return False
    parts = script[2:].split(mark)
    return len(parts) == 3 and len(parts[2]) <= 3 and set(parts[2]) <= set("gp0123456789I")


_PRINTF = re.compile(r"(?!-)(?:[^%\\]++|%%|%-?\d{0,4}+[sd]|\\[nt])*+")


def _format_of_printf(arguments: Sequence[str]) -> str:
    return "" if arguments and _PRINTF.fullmatch(arguments[0]) else "a format of printf can set variables and escape"


_TESTS = frozenset(
    ("-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-p", "-r", "-s", "-u", "-w", "-x", "-z")
)


def _one_test(arguments: Sequence[str]) -> str:
    if len(arguments) == 2 and arguments[0] in _TESTS and not arguments[1].startswith("-"):
        return ""
    return "an expression of test can evaluate subscripts"


_FINDS_ALONE = "-L -P -H -print -print0 -ls -empty -prune -not -o -or -a -and -depth -mount -xdev -follow -true -false"
_FINDS = (
    "-name:text -iname:text -path:text -ipath:text -wholename:text -regex:text -iregex:text -regextype:text"
    " -type:text"
    " -xtype:text -maxdepth:number -mindepth:number -size:number -mtime:number -mmin:number -atime:number"
    " -amin:number"
    " -ctime:number -cmin:number -newer:path -user:text -group:text -perm:text -links:number -inum:number"
)
_MATCHES = (
    "-i -v -c -l -L -n -H -h -o -q -s -w -x -E -F -G -P -a -I -y -z -e:text -m:number -A:number -B:number"
    " -C:number -#"
    " -f:path --ignore-case --invert-match --count --files-with-matches --files-without-match --line-number"
    " --with-filename --no-filename --only-matching --quiet --silent --no-messages --word-regexp --line-regexp"
    " --extended-regexp --fixed-strings --basic-regexp --perl-regexp --text --max-count=number --after-context=number"
    " --before-context=number --context=number --regexp=text --color[=text] --colour[=text]"
)
_RECURSIVE = " -r -R --recursive --dereference-recursive --include=text --exclude=text --exclude-dir=text"
_DIFFERENCES = (
    "-p -u --patch -s --no-patch -U:number --unified=number --raw --stat[=text] --numstat --shortstat --summary"
    " --compact-summary --dirstat[=text] --name-only --name-status --color[=text] --no-color --word-diff[=text] -M -B"
    " --find-renames[=text] --no-renames --diff-filter=text -S:text -G:text --pickaxe-all --check --full-index"
    " --abbrev[=number] -w -b --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-space-at-eol"
    " --minimal --patience --histogram --no-ext-diff --no-textconv --quiet --exit-code -a --text -z -R --relative"
    " --function-context -W --inter-hunk-context=number --cached --staged --merge-base --ignore-submodules[=text]"
)
_HISTORY = (
    " --oneline --graph --all --branches --tags --remotes --decorate[=text] --no-decorate --abbrev-commit"
    " --no-abbrev-commit --no-merges --merges --first-parent --follow --reverse --date=text --relative-date -n:number"
    " --max-count=number --skip=number --since=text --after=text --until=text --before=text --author=text"
    " --committer=text --grep=text -i --regexp-ignore-case -E --extended-regexp -F --fixed-strings --all-match"
    " --invert-grep --format=text --pretty[=text] --topo-order --date-order --author-date-order --left-right"
    " --left-only"
    " --right-only --cherry --cherry-pick --cherry-mark --boundary --simplify-by-decoration --notes"
    " --no-notes --source -m -c --cc -#"
)
_FILES_TO_LIST = (
    "-a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x -X -Z -1"
    " -w:number -I:text --all --almost-all --author --escape --directory --classify[=text] --full-time"
    " --group-directories-first --human-readable --si --dereference --hide=text --ignore=text --indicator-style=text"
    " --inode --literal --no-group --numeric-uid-gid --quote-name --recursive --reverse --size --sort=text"
    " --time=text"
    " --time-style=text --color[=text] --format=text --block-size=text --width=number"
)


def _escapes(arguments: Sequence[str]) -> str:
    risky = any("%x" in word or "%G" in word for word in arguments)
    return "a format with %x prints any byte, and one with %G runs gpg" if risky else ""


def _reads_no_environment(arguments: Sequence[str]) -> str:
    hidden = any(re.search(r"\benv\b|\$ENV|\binput_filename\b|\b(?:import|include)\b", word) for word in arguments)
    return "a filter of jq can read the environment and other files" if hidden else ""


def _shows_the_date(arguments: Sequence[str]) -> str:
    sets = any(not word.startswith(("-", "+")) for word in arguments if not re.fullmatch(r"[\w@:. +-]+ago|@\d+", word))
    return "date can set the clock" if sets else ""


_TARGETS = frozenset(
    (
        *("test", "tests", "check", "lint", "build", "all", "format", "fmt", "typecheck", "types", "unit", "unittest"),
        *("verify", "compile", "test-unit", "unit-test", "unit-tests"),
    )
)


def _named_targets(arguments: Sequence[str]) -> str:
    targets = [word for word in arguments if not word.startswith("-") and not word.isdigit()]
    if not targets:
        return "without a target it runs whatever the project puts first"
    other = next((target for target in targets if target not in _TARGETS), "")
    return f"the target {other[:40]} is none of those that build or test" if other else ""


_add("ls,dir,vdir", _FILES_TO_LIST, globs=True)
_add("pwd", "-L -P", "none", built_in=True)
_add("cd", "-P -L", most=1, built_in=True)
_add("true,false,:", "", "text", built_in=True)
_add("echo", "-n", "text", built_in=True, globs=True)
_add("printf", "", "text", built_in=True, check=_format_of_printf)
_add("test", " ".join(sorted(_TESTS)), "path", most=1, built_in=True, check=_one_test)
_add("type", "-a -t -p -P", "text", built_in=True)
_add("cat", "-A -b -e -E -n -s -t -T -u -v --number --number-nonblank --show-all --squeeze-blank", globs=True)
_add("head,tail", "-n:number -c:number -q -v -z -# --lines=number --bytes=number --quiet --verbose", globs=True)
_add("wc", "-c -m -l -L -w --bytes --chars --lines --words --max-line-length", globs=True)
_add("nl", "-b:text -n:text -w:number -s:text -v:number -i:number")
_add("cut", "-b:text -c:text -d:text -f:text -s -z --complement --delimiter=text --fields=text --characters=text")
_add("paste", "-d:text -s -z --serial --delimiters=text")
_add("join", "-1:number -2:number -t:text -i -a:number -v:number -o:text", most=2)
_add("tr", "-c -C -d -s -t --complement --delete --squeeze-repeats", "text", most=2)
_add("rev,tac,tsort", "")
_add("expand,unexpand", "-t:text -i -a --tabs=text")
_add("fold,fmt", "-w:number -s -b -u --width=number --spaces")
_add("column", "-t -s:text -c:number -x -n -N:text")
_add(
    "sort",
    "-b -d -f -g -h -i -M -n -r -R -V -c -C -m -s -u -z -k:text -t:text --numeric-sort --reverse --unique --key=text"
    " --field-separator=text --human-numeric-sort --version-sort --ignore-case --stable --check",
)
_add("uniq", "-c -d -D -i -u -z -f:number -s:number -w:number --count --repeated --unique --ignore-case", most=1)
_add("comm", "-1 -2 -3 -z --nocheck-order --total", most=2)
_add(
    "diff",
    "-a -b -B -c -C:number -d -e -E -i -n -N -p -q -r -s -t -T -u -U:number -w -y -W:number -Z --brief"
    " --unified[=number]"
    " --side-by-side --width=number --recursive --new-file --ignore-case --ignore-all-space --ignore-space-change"
    " --ignore-blank-lines --color[=text] --exclude=text --strip-trailing-cr --suppress-common-lines",
    most=2,
)
_add("cmp", "-b -l -s -n:number", most=2)
_add("md5sum,sha1sum,sha224sum,sha256sum,sha384sum,sha512sum,b2sum,cksum,sum", "-b -t -z --tag", globs=True)
_add("basename,dirname", "-a -s:text -z", "text")
_add("realpath,readlink", "-e -f -m -n -q -s -z --relative-to:path")
_add("stat", "-c:text -f -L -t --format=text", check=_escapes)
_add("file", "-b -i -h -L -k -N -0 --brief --mime --mime-type --mime-encoding --dereference")
_add(
    "du",
    "-a -b -c -d:number -h -k -l -L -m -s -S -x --all --apparent-size --bytes --total --human-readable --summarize"
    " --max-depth=number --exclude=text",
    globs=True,
)
_add("df", "-a -h -H -i -k -l -P -T -t:text")
_add(
    "tree", "-a -d -f -F -i -l -s -h -D -r -t -v -U -L:number -I:text -P:text -C -n --dirsfirst --noreport --gitignore"
)
_add("which", "-a", "text")
_add("date", "-u -R -I -Iseconds -Is -Idate -d:text --utc --date=text --iso-8601[=text]", "text", check=_shows_the_date)
_add("uname", "-a -s -n -r -v -m -p -i -o", "none")
_add("whoami,tty,arch,nproc,uptime", "", "none")
_add("id,groups", "-u -g -G -n -r", "text", most=1)
_add("hostname", "-s -f -i -I", "none")
_add("free", "-b -k -m -g -h -t -w", "none")
_add("ps", "-e -A -f -a -u -x -l -H", "none")
_add("ps aux,ps ax,ps -ef", "", "none")
_add("sleep", "", "number")
_add("seq", "-s:text -w -f:text", "number")
_add("grep,egrep,fgrep", _MATCHES + _RECURSIVE, "text path", instead="-e -f --regexp")
_add(
    "rg",
    "-i -S -s -v -c -l -n -N -H -I -o -q -w -x -F -U -P -p -u -e:text -m:number -A:number -B:number -C:number -g:text"
    " -t:text -T:text -r:text -d:number -M:number --files --hidden --no-ignore --no-heading --heading --line-number"
    " --ignore-case --smart-case --fixed-strings --multiline --files-with-matches --count --count-matches --json"
    " --glob=text --type=text --type-not=text --sort=text --max-count=number --max-depth=number --context=number"
    " --color=text --stats --trim --vimgrep --column --no-filename --with-filename --word-regexp --invert-match",
    "text path",
    instead="-e --files",
)
_add("find", f"{_FINDS_ALONE} {_FINDS}", "path", words=True)
_add("sed", "-n -E -r -s -z --quiet --silent --regexp-extended", "text path", check=_only_prints)
_add(
    "jq",
    "-r -c -e -s -n -S -M -C -j -a -R --raw-output --compact-output --slurp --null-input --sort-keys --tab"
    " --raw-input"
    " --exit-status --monochrome-output --color-output --indent:number",
    "text path",
    check=_reads_no_environment,
)
_add(
    "python --version,python3 --version,python -V,python3 -V,node -v,node --version,npm -v,npm --version,go version"
    ",cargo --version,rustc --version,git --version,git version,pip --version,pip3 --version,make --version"
    ",ruby --version,java -version,java --version,bash --version,gcc --version,clang --version,cmake --version"
    ",docker --version,uv --version,ruff --version,pytest --version,deno --version,bun --version,tsc --version"
    ",rg --version,jq --version,pnpm --version,yarn --version,zsh --version,tmux -V",
    "",
    "none",
)
_add(
    "git status",
    "-s -b -v -z -u -uno -uall -unormal --short --branch --long --verbose --porcelain[=text] --show-stash"
    " --ahead-behind"
    " --untracked-files[=text] --ignored[=text] --no-renames --renames --column[=text] --no-column",
    "rev",
)
_add("git log,git whatchanged", _DIFFERENCES + _HISTORY, "rev", check=_escapes)
_add("git show", _DIFFERENCES + _HISTORY, "rev", check=_escapes)
_add("git diff", _DIFFERENCES + " -1 -2 -3 --base --ours --theirs -C", "rev")
_add("git diff-tree,git diff-index,git diff-files", _DIFFERENCES + " -r -t --root -m --stdin", "rev")
_add("git range-diff,git cherry", "-v --no-color --stat", "rev")
_add("git rev-list", _HISTORY + " --count --objects --summary", "rev", check=_escapes)
_add("git shortlog", "-s -n -e -c --summary --numbered --email --since=text --until=text --no-merges --all", "rev")
_add(
    "git branch",
    "-a -r -v -vv -i --all --remotes --list --verbose --show-current --no-color --color[=text] --sort=text"
    " --format=text"
    " --merged --no-merged --contains:rev --no-contains:rev --points-at:rev --column[=text] --no-column"
    " --ignore-case",
    "none",
)
_add("git branch --list,git branch -l", "-a -r -v -vv --sort=text --format=text", "text")
_add("git tag", "-l -n --list --sort=text --format=text --merged --no-merged --contains:rev --points-at:rev", "none")
_add("git tag --list,git tag -l", "-n --sort=text --format=text", "text")
_add("git remote", "-v --verbose", "none")
_add("git remote get-url", "--all --push", "text", most=1)
_add(
    "git rev-parse",
    "--show-toplevel --show-prefix --show-cdup --git-dir --abbrev-ref --short[=number] --verify --quiet -q"
    " --is-inside-work-tree"
    " --is-bare-repository --symbolic --symbolic-full-name --all --show-superproject-working-tree --git-common-dir",
    "rev",
)
_add("git describe", "--all --tags --always --dirty[=text] --abbrev=number --long --contains --match=text", "rev")
_add(
    "git blame,git annotate",
    "-b -c -e -f -l -n -s -t -w -M -C -L:text --date=text --porcelain --line-porcelain --show-email --root"
    " --since=text",
    "rev",
)
_add(
    "git ls-files",
    "-c -d -m -o -i -s -t -u -v -z -k --cached --deleted --modified --others --ignored --stage --exclude-standard"
    " --full-name --error-unmatch --directory --eol --abbrev[=number]",
)
_add("git ls-tree", "-d -r -t -l -z --long --name-only --name-status --full-name --full-tree --abbrev[=number]", "rev")
_add("git cat-file", "-p -t -s -e", "rev", most=2)
_add(
    "git for-each-ref,git show-ref", "--sort=text --format=text --count=number --heads --tags --verify -q -d -s", "text"
)
_add("git merge-base,git name-rev", "--all --is-ancestor --fork-point --tags --name-only --always", "rev")
_add("git symbolic-ref", "--short -q", "text", most=1)
_add("git stash list", _DIFFERENCES + _HISTORY, "none", check=_escapes)
_add("git stash show", _DIFFERENCES + " --include-untracked --only-untracked", "rev", most=1)
_add("git reflog", "--all --oneline --date=text -n:number -# --no-abbrev", "none")
_add("git reflog show", "--all --oneline --date=text -n:number -# --no-abbrev", "rev")
_add("git worktree list", "-v --porcelain -z", "none")
_add("git count-objects", "-v -H", "none")
_add("git check-ignore,git check-attr", "-v -n -q -a --no-index --verbose", "path")
_add(
    "git grep",
    _MATCHES.replace("-f:path ", "") + " --cached --heading --break --show-function -p -W",
    "text rev",
    instead="-e --regexp",
)

_PYTEST = (
    "-x -q -v -s -l -qq -vv -vvv -ra -rA -rf -rs -k:text -m:text -n:text --lf --ff --nf --sw --last-failed"
    " --failed-first"
    " --exitfirst --maxfail=number --tb=text --co --collect-only --durations=number --no-header --no-summary --quiet"
    " --verbose --verbose=number --stepwise --color=text --strict-markers --disable-warnings --showlocals"
    " --timeout=number"
    " --cov[=text] --no-cov --cov-report=path --cache-clear --reruns=number --numprocesses=text --runslow"
)
_add("pytest,py.test,python -m pytest,python3 -m pytest", _PYTEST, use="build")
_add("python -m unittest,python3 -m unittest", "-v -q -f -b -k:text --verbose --failfast", "text", use="build")
_add("python -m unittest discover,python3 -m unittest discover", "-v -q -f -b -s:path -p:text", "none", use="build")
_add("python -m compileall,python3 -m compileall,python -m py_compile,python3 -m py_compile", "-q -f", use="build")
_RUFF = (
    " --select=text --ignore=text --diff --quiet -q --no-cache --statistics --output-format=text --preview"
    " --exclude=text"
)
_add(
    "ruff check,python -m ruff check,python3 -m ruff check",
    "--fix --show-fixes --no-fix --unsafe-fixes" + _RUFF,
    use="build",
)
_add("ruff format,python -m ruff format,python3 -m ruff format", "--check" + _RUFF, use="build")
_add(
    "mypy,python -m mypy,python3 -m mypy",
    "--strict --pretty --no-incremental --ignore-missing-imports -p:text -m:text",
    use="build",
)
_add("pyright,basedpyright", "--stats --warnings --outputjson", use="build")
_add(
    "black,isort,python -m black,python3 -m black",
    "--check --diff -q -v --check-only --profile=text -l:number",
    use="build",
)
_add(
    "flake8,pylint,pyflakes,pycodestyle,ty check,pyrefly check",
    "--max-line-length=number --count --statistics",
    use="build",
)
_add("tox,nox", "-q -v -r -l", "none", use="build")
_CARGO = (
    "--release --all --workspace -p:text --package:text --lib --bins --bin:text --tests --test:text --examples"
    " --benches"
    " --all-targets --all-features --no-default-features --features:text --features=text -q -v -vv --quiet"
    " --verbose --locked"
    " --offline --frozen -j:number --jobs=number --no-run --no-fail-fast --doc --keep-going --message-format=text"
    " --profile=text -r"
)
_add(
    "cargo build,cargo check,cargo test,cargo t,cargo b,cargo c,cargo clippy,cargo nextest run",
    _CARGO,
    "text",
    use="build",
)
_add("cargo fmt", "--all --check -q -v", "none", use="build")
_GO = (
    "-v -race -short -cover -failfast -json -x -a -n -shuffle:text -run:text -bench:text -benchmem -count:number"
    " -timeout:number -parallel:number -p:number -tags:text -covermode:text -trimpath -list:text -skip:text"
)
_add("go build,go test,go vet", _GO, words=True, use="build")
_add("go fmt,gofmt,go list", "-l -d -s -n -x -w -e -json", words=True, use="build")
_RUNS = (
    "test",
    "lint",
    "build",
    "typecheck",
    "type-check",
    "types",
    "check",
    "format",
    "fmt",
    "tsc",
    "test:unit",
    "compile",
)
_SCRIPTS = ",".join(
    f"{runner} {word}"
    for runner in ("npm run", "npm run-script", "pnpm run", "yarn run", "bun run", "pnpm", "yarn", "just", "task")
    for word in _RUNS
)
_add(
    f"npm test,npm t,bun test,deno test,deno lint,deno check,{_SCRIPTS}",
    "-s --silent --if-present",
    "none",
    use="build",
)
_add("tsc", "--noEmit --pretty --strict -b --build --skipLibCheck -p:path --project:path", use="build")
_add(
    "eslint,prettier,biome check,biome lint,stylelint",
    "--fix --check --write --quiet --cache --ext=text -w -c -l",
    use="build",
)
_add(
    "vitest,vitest run,jest,mocha,ava",
    "--run --silent --verbose --bail --ci --coverage -t:text",
    use="build",
)
_add(
    "make,gmake",
    "-s -k -B -w -i -j:number --silent --quiet --keep-going --no-print-directory",
    "text",
    use="build",
    check=_named_targets,
)
_add(
    "ctest,cmake --build,meson test,meson compile",
    "-v -j:number -C:path --output-on-failure -R:text",
    use="build",
)
_add("ninja", "-v -j:number -C:path", "none", use="build")
_JAVA = "-q -o -B --offline --quiet --batch-mode --no-daemon --continue --info --console=text"
_add("mvn,gradle", _JAVA, "text", use="build", check=_named_targets)
_add(
    "dotnet build,dotnet test,swift build,swift test,zig build,mix test,mix compile,mix format",
    "-v -q --no-restore",
    "path",
    use="build",
)
_add(
    "rspec,bundle exec rspec,rails test,rubocop,bundle exec rubocop",
    "-fd -fp",
    use="build",
)
_add("rake test,rake spec,bundle exec rake test", operands="none", use="build")
_add("phpunit,composer test", "--testdox --colors[=text] --filter=text", use="build")

_add("git add", "-A -u -v -n --all --update --dry-run --verbose -N --intent-to-add", use="change")
_add("git commit", "-a -m:text -q -v -s --amend --no-edit --all --signoff --quiet --message=text", use="change")
_add("git switch", "-c:text -q --quiet", "text", use="change", most=1)
_add(
    "git stash,git stash push,git stash pop,git stash apply",
    "-u -q -m:text --include-untracked --quiet --index",
    "none",
    use="change",
)
_add("mkdir,touch", "-p -v --parents", use="change")
_add(
    "npm ci,npm install,pnpm install,yarn install,bun install,go mod tidy,go mod download,cargo fetch,bundle"
    " install,uv sync",
    "--frozen-lockfile --no-audit --silent -q --quiet --frozen --locked",
    "none",
    use="change",
)
_add(
    "docker compose ps,docker compose logs,docker ps,docker images,docker compose config",
    "-a -q --no-trunc --tail=number",
    "text",
    use="change",
)
_add(
    "docker compose up,docker compose down,docker compose build",
    "-d --build --remove-orphans --no-cache --pull",
    "text",
    use="change",
)
_add(
    "kubectl get,kubectl describe",
    "-A -n:text -o:text -w --all-namespaces --namespace=text --output=text",
    "text",
    use="change",
)
