"""The `gsh-tui` command: opens the window by the shortest way, gives everything else to click.

Imports `os` and `sys` only, until it knows what is wanted. No exception leaves as a traceback: what nobody expected is
written to a file, and one sentence names it. Called by the console script and `python -m gshtui`.
"""

from __future__ import annotations

import os
import sys

from gshtui.cli.opening import Opening, read_opening

BY_HAND = {
    "gsh": "at_prompt",
    "prompt": "prompt",
    "run": "run",
    "context": "context",
    "timeline": "context",
    "shell": "shell",
    "config": "config",
    "doctor": "doctor",
    "completion": "shell",
    "logs": "doctor",
    "guard": "run",
    "help": "root",
}
"""The commands that are the command line's own, each with the module of this folder that has it."""
NO_TERMINAL = """\
gsh-tui opens a full-screen window and needs a terminal for it; here a standard stream is none.
Without one, `gsh-tui prompt "…"` does one turn and `gsh-tui run '…'` one command; `gsh-tui --help` lists the rest.
"""


def command_words() -> frozenset[str]:
    """The first words that are commands."""
    from gshtui.cli.declared_forms import COMMANDS

    return frozenset(BY_HAND) | {form.name.partition(" ")[0] for form in COMMANDS}


def is_command(word: str) -> bool:
    """Whether this first word is a command."""
    return word in command_words()


def program() -> None:
    """The console script `gsh-tui`."""
    _exit(main())


def gsh_program() -> None:
    """The console script `gsh`."""
    _exit(main(["gsh", *sys.argv[1:]]))


def _exit(code: int) -> None:
    """End the process at once: taking the interpreter apart would cost every command another 50 ms."""
    if "gshtui.cli.window" in sys.modules:
        sys.exit(code)  # what the window has registered for its end puts the terminal back
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # it is where the stream was closed from the start
                stream.flush()
        except BrokenPipeError:
            code = _nobody_reads()
        except OSError as error:
            code = code or _unwritten(error)
    os._exit(code)


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (the process's own when `None`). Gives the exit code; raises nothing."""
    arguments = sys.argv[1:] if argv is None else argv
    _open_standard_streams()
    try:
        # A shell that completes a word sets this variable, and click answers.
        completing = "_GSH_TUI_COMPLETE" in os.environ
        if not completing and arguments[:1] == ["shell"]:
            from gshtui.cli.shell_init import quick

            if quick(arguments):
                return 0
        opening = None if completing else read_opening(arguments, is_command)
        return _window(opening) if opening is not None else _command(arguments)
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
        from gshtui.headless.runner import report_crash

        return report_crash(error)


def _window(opening: Opening) -> int:
    # Textual draws on standard error; somebody who redirected any of the three does not want a window.
    if not (os.isatty(0) and os.isatty(1) and os.isatty(2)) or os.environ.get("TERM") == "dumb":
        os.write(2, NO_TERMINAL.encode())
        return 2
    if opening.cwd:
        try:
            os.chdir(opening.cwd)
        except OSError as error:
            os.write(2, f"gsh-tui: {opening.cwd} cannot be opened: {error.strerror}.\n".encode())
            return 1
    from gshtui.cli.window import open_window

    return open_window(opening)


def _command(arguments: list[str]) -> int:
    import gc

    # Loading makes tens of thousands of objects that all stay: looking for garbage among them finds none.
    gc.set_threshold(50_000, 20, 100)
    from gshtui.cli.root import run
    from gshtui.headless.runner import catch_in_threads

    catch_in_threads()
    return run(arguments)


def _open_standard_streams() -> None:
    """Give every standard stream that is closed a place to go, so that no file of ours ever gets its number."""
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # Standard output opened for reading: writing fails as it did when it was closed.
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)


def _nobody_reads() -> int:
    """The reader went away (`| head`): be quiet, also when the interpreter flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 1


def _unwritten(error: OSError) -> int:
    os.write(2, f"gsh-tui: the output could not be written: {error.strerror}.\n".encode())
    return 1
