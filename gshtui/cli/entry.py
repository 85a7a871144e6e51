"""The `gsh-tui` command: without arguments it opens the window at once; all arguments are click's.

Imports only `os` and `sys` until it knows what to do. Never prints a traceback: an unexpected exception is written to a
file, and one sentence names that file. Called by the console script and `python -m gshtui`.
"""

from __future__ import annotations

import os
import sys

from gshtui.cli.familiar_words import opens_window, our_words


def program() -> None:
    """The console script `gsh-tui`."""
    _exit(main())


def gsh_program() -> None:
    """The console script `gsh`."""
    _exit(main(["gsh", *sys.argv[1:]]))


def _exit(code: int) -> None:
    """End the process at once: shutting the interpreter down properly would cost every command another 50 ms."""
    if "gshtui.cli.window" in sys.modules:
        sys.exit(code)  # the window's exit handlers restore the terminal
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # it is `None` if the stream was closed from the start
                stream.flush()
        except BrokenPipeError:
            code = _nobody_reads()
        except OSError as error:
            code = code or _unwritten(error)
    os._exit(code)


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (`None`: the process's own). Returns the exit code; raises nothing."""
    arguments = sys.argv[1:] if argv is None else argv
    _open_standard_streams()
    try:
        # A shell that is completing a word sets this variable, and click answers.
        completing = "_GSH_TUI_COMPLETE" in os.environ
        arguments = arguments if completing else our_words(arguments)
        if not completing and (why := _unusable_home() or _too_long_place(arguments) or _borrowed_home(arguments)):
            os.write(2, why.encode())
            return 1
        if not completing and arguments[:1] == ["shell"]:
            from gshtui.cli.shell_init import quick

            if quick(arguments):
                return 0
        if arguments[:3] == ["agent", "run", "--spec"] and arguments[4:-1] in ([], ["--left"]) and not completing:
            return _agent(*arguments[3::2])
        if not completing and opens_window(arguments):
            from gshtui.ui.window.terminal_echo import ECHO

            ECHO.off()
        return _command(arguments) if arguments or completing else _window()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _nobody_reads()
    except BaseException as error:
        import errno

        no_room = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        if isinstance(error, OSError) and error.errno in no_room and not error.filename:
            return _unwritten(error)
        from gshtui.headless.crash import report_crash

        return report_crash(error)
    finally:
        if (echo := sys.modules.get("gshtui.ui.window.terminal_echo")) is not None:
            echo.ECHO.on()


def _agent(spec: str, left: str = "") -> int:
    """The terminal of an agent: each has such a process, of which click would be a half."""
    from pathlib import Path

    from gshtui.headless.agents.agent_terminal import run_agent

    return run_agent(Path(spec), left=int(left) if left.isdecimal() else -1)


def _unusable_home() -> str:
    """Why `HOME` is no home; empty: it is, or an empty one was taken out, as if nobody had set it."""
    home = os.environ.get("HOME", "/")
    if not home:
        del os.environ["HOME"]
    if not home or home.startswith("/"):
        return ""
    from gshtui.text.sanitise import one_line

    return f"gsh-tui: HOME is “{one_line(home, 200)}”, which is not an absolute path; set it to your home folder.\n"


_PLACES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
_DEEPEST = "/gsh/logs/crash-20260101T000000-000000-4194304.log"
"""About the longest that is put behind one of them."""


def _is_harmless(arguments: list[str]) -> bool:
    """Whether this uses no folder."""
    return arguments[:1] in (["--help"], ["--version"]) or arguments[:2] == ["shell", "init"]


def _too_long_place(arguments: list[str]) -> str:
    """Which variable names a place that no path can lead to; empty: none does."""
    import errno

    for name in () if _is_harmless(arguments) else _PLACES:
        value = os.environ.get(name, "")
        try:
            if value.startswith("/"):
                os.stat(value + _DEEPEST)  # noqa: PTH116
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                size = f"{len(os.fsencode(value)):,}"
                hint = "set it to your home folder" if name == "HOME" else "set it to a folder, or unset it"
                return f"gsh-tui: {name} ({size} bytes) is too long for a path; {hint}.\n"
    return ""


def _borrowed_home(arguments: list[str]) -> str:
    """Why root may do nothing here (after `sudo -E`, or `su` with its home kept); empty: it may.

    What root makes in another user's home, this user can neither write nor remove.
    """
    home = os.environ.get("HOME", "")
    if os.geteuid() != 0 or not home or _is_harmless(arguments):
        return ""
    try:
        owner = os.stat(home).st_uid  # noqa: PTH116  (importing `Path` takes longer than all of this)
    except OSError:
        return ""
    if owner == 0:
        return ""
    import pwd

    from gshtui.text.sanitise import one_line

    try:
        user, own = pwd.getpwuid(owner).pw_name, pwd.getpwuid(0).pw_dir
    except KeyError:
        return ""  # in a container the folder of somebody outside: here nobody else uses it
    if os.path.realpath(own) == os.path.realpath(home):
        return ""
    folder = one_line(home, 400)
    return (
        f"gsh-tui: you are root, and {folder} is the home of {user}, who could not use what is made there. "
        f"Run gsh-tui as {user}, or with a home of root's: `sudo -H gsh-tui`.\n"
    )


def _window() -> int:
    from gshtui.cli.opening import Opening
    from gshtui.cli.window import open_terminal

    return open_terminal(Opening())


def _command(arguments: list[str]) -> int:
    import gc

    # Loading creates hundreds of thousands of objects that all stay: collecting garbage now would find none, and
    # walking through them takes a tenth of the time that `gsh` takes to begin. `runner.collect_later` ends that.
    gc.set_threshold(1_000_000, 20, 100)
    from gshtui.headless.crash import catch_in_threads

    catch_in_threads()
    from gshtui.cli.root import run

    return run(arguments)


def _open_standard_streams() -> None:
    """Open every closed standard stream on the null device, so that no file of ours ever gets its number."""
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # Open standard output for reading: writes fail, as they did when it was closed.
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)


def _nobody_reads() -> int:
    """The reader went away (`| head`): stay quiet, even when the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 1


def _unwritten(error: OSError) -> int:
    os.write(2, f"gsh-tui: cannot write the output: {error.strerror}.\n".encode())
    return 1
