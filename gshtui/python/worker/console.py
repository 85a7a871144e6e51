"""Runs blocks one after another in one namespace, as an interactive interpreter would, and reports how each ended.

Output goes to the descriptors 1 and 2 unbuffered, so that what a block prints and what its subprocesses print come in
order. Runs under the person's Python with nothing but the standard library.
"""

from __future__ import annotations

import ast
import io
import linecache
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from gshtui.python.worker.channel import Channel, HubGone
from gshtui.python.worker.drawn_figures import add_picture, is_picture, prepare_showing, take_figures
from gshtui.python.worker.kept_values import KeptValues
from gshtui.python.worker.namespace import Namespace
from gshtui.python.worker.values import describe_value, describe_variables, variable_names

_FRAMES = 12
"""Levels of a traceback that are shown, from the innermost."""
_OWN, _OWN_LEVELS = os.path.dirname(__file__), 8
_PRESSES, _PRESS_AGAIN = 10, 0.1
"""How often a block is interrupted that does not notice, and the seconds between."""
_SOURCES = 200
"""Blocks whose text is remembered for tracebacks."""


class Streams:
    """What the interpreter was given to print to, kept so that a block cannot lose it for the next one."""

    def __init__(self) -> None:
        self._output = os.dup(1)
        os.set_inheritable(self._output, False)

    def restore(self) -> None:
        """Standard input is empty, output and errors go where they belong, whatever the block before did to them."""
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        if nothing:
            os.close(nothing)
        for descriptor in (1, 2):
            os.dup2(self._output, descriptor)
        sys.stdin = sys.__stdin__ = _text(0, "r")
        sys.stdout = sys.__stdout__ = _text(1, "w")
        sys.stderr = sys.__stderr__ = _text(2, "w")

    def silence(self) -> None:
        """Let nothing be seen of what is printed, until `restore`."""
        nothing = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            os.dup2(nothing, descriptor)
        os.close(nothing)

    def flush(self) -> None:
        """Print what is still held back, by C libraries, too."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # whatever the block put there
                pass
        if "ctypes" in sys.modules or "numpy" in sys.modules:
            import ctypes

            ctypes.CDLL(None).fflush(None)


class _Descriptor(io.RawIOBase):
    """Writes everything at once, and closes nothing."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self.mode = "rb" if number == 0 else "wb"

    def fileno(self) -> int:
        return self._number

    def readable(self) -> bool:
        return self._number == 0

    def writable(self) -> bool:
        return self._number != 0

    def readinto(self, buffer: Any) -> int:
        data = os.read(self._number, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view):
            done += os.write(self._number, view[done:])
        return done


def _text(number: int, mode: str) -> io.TextIOWrapper:
    raw = _Descriptor(number)
    if mode == "r":
        return io.TextIOWrapper(io.BufferedReader(raw), "utf-8", "replace")
    made = io.TextIOWrapper(raw, "utf-8", "backslashreplace", newline="\n", write_through=True)  # type: ignore[arg-type]
    made.mode = "w"  # type: ignore[attr-defined]
    return made


class Console:
    """The interpreter. `serve` runs in the main thread, which gets the interrupts."""

    def __init__(self, channel: Channel, streams: Streams, namespace: Namespace, values: KeptValues) -> None:
        self._channel = channel
        self._streams = streams
        self._namespace = namespace
        self._values = values
        self._jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._running = False
        self._noticed = False
        self._unwanted = 0
        """The newest block that was interrupted, perhaps before it began."""
        self._process = os.getpid()

    def serve(self) -> None:
        """Say that it is ready, and run what comes until the hub is gone."""
        self._streams.restore()
        signal.signal(signal.SIGINT, self._interrupted)
        ready = {"version": sys.version.split()[0], "executable": sys.executable, "pid": self._process}
        self._channel.send({"is": "ready", **ready})
        threading.Thread(target=self._listen, name="gsh-channel", daemon=True).start()
        while True:
            signal.signal(signal.SIGINT, self._interrupted)
            job = self._jobs.get()
            if job["do"] == "run":
                self._answer(job["id"], **self.run(job["code"], job["name"], job["id"]))
            elif job["do"] == "variables":
                self._answer(job["id"], variables=self._described())
            elif job["do"] == "keep":
                self._answer(job["id"], **self._unless_stopped(self._values.keep, job["whole"], job["id"]))
            elif job["do"] == "restore":
                self._streams.silence()
                self._answer(job["id"], **self._unless_stopped(self._values.restore, job["kept"], job["id"]))

    def _unless_stopped(self, work: Callable[[Any], dict[str, Any]], given: Any, number: int) -> dict[str, Any]:
        """Do something with the values, whose own code may raise whatever it likes, and can be interrupted."""
        try:
            try:
                self._running = True
                if self._unwanted >= number:
                    raise KeyboardInterrupt
                return work(given)
            finally:
                self._running = False
        except KeyboardInterrupt:
            return {"ok": False, "fault": "it took too long"}
        except BaseException as error:
            return {"ok": False, "fault": f"{type(error).__name__}: {error}"[:300]}

    def _answer(self, number: int, **more: Any) -> None:
        if os.getpid() != self._process:
            os._exit(0)  # a block has forked, and its child came to the block's end
        self._channel.send({"is": "done", "id": number, **more})

    def _listen(self) -> None:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._channel.listen(self._receive)
        except (HubGone, ValueError):
            os._exit(0)

    def _receive(self, frame: dict[str, Any]) -> None:
        if frame["do"] == "interrupt":
            self._unwanted = frame["id"]
            threading.Thread(target=self._press, name="gsh-interrupt", daemon=True).start()
        else:
            self._jobs.put(frame)

    def _press(self) -> None:
        """Interrupt the block and what it waits for, as Ctrl+C would; again if it came right before a system call."""
        self._noticed = False
        for _ in range(_PRESSES):
            os.killpg(0, signal.SIGINT)
            time.sleep(_PRESS_AGAIN)
            if self._noticed or not self._running:
                return

    def _interrupted(self, *_: object) -> None:
        self._noticed = True
        if self._running:
            raise KeyboardInterrupt

    def run(self, code: str, name: str, number: int) -> dict[str, Any]:
        """Run one block. Returns how it ended; raises nothing.

        Args:
            name: of its file in tracebacks.
            number: its id.
        """
        self._streams.restore()
        started = time.perf_counter()
        result: dict[str, Any] = {"ok": True}
        try:
            try:
                self._running = True
                if self._unwanted >= number:
                    raise KeyboardInterrupt
                result["value"] = self._executed(code, name)
            finally:
                self._running = False
        except BaseException as error:  # also SystemExit and the interrupt: none of them ends the interpreter
            result = {"ok": False, **_explained(error, name)}
        if os.getpid() != self._process:
            self._streams.flush()
            os._exit(0 if result["ok"] else 1)
        try:
            result["figures"] = take_figures()
        except Exception as error:  # of a library: the block itself is done
            result["figures"] = []
            result["figure_error"] = f"{type(error).__name__}: {error}"[:300]
        self._streams.flush()
        result["seconds"] = time.perf_counter() - started
        result["names"] = variable_names(self._namespace.own())
        return result

    def _executed(self, code: str, name: str) -> dict[str, Any] | None:
        """Run it; the value of its last expression, described."""
        _remember_source(code, name)
        tree = ast.parse(code, name)
        self._namespace.import_for(tree)
        if "PIL" in code:
            prepare_showing()
        names = self._namespace.names
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        if tree.body:
            _run(compile(tree, name, "exec", flags, dont_inherit=True), names)
        if not isinstance(last, ast.Expr):
            return None
        value = _run(compile(ast.Expression(last.value), name, "eval", flags, dont_inherit=True), names)
        if value is None or code.rstrip().endswith(";"):
            return None
        names["_"] = value
        if is_picture(value):
            add_picture(value)
        return describe_value(value)

    def _described(self) -> list[dict[str, Any]]:
        try:
            return describe_variables(self._namespace.own())
        except Exception as error:  # of somebody's __repr__ or __len__
            return [{"name": "(?)", "type": type(error).__name__, "size": "", "preview": str(error)[:200]}]


def _run(code: Any, names: dict[str, Any]) -> Any:
    """Run compiled code; one that awaits, in a loop of its own."""
    if not code.co_flags & 0x80:  # inspect.CO_COROUTINE
        return eval(code, names)
    import asyncio

    return asyncio.run(eval(code, names))


_names: list[str] = []


def _remember_source(code: str, name: str) -> None:
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    _names.append(name)
    if len(_names) > _SOURCES:
        linecache.cache.pop(_names.pop(0), None)


def _explained(error: BaseException, name: str) -> dict[str, Any]:
    """What went wrong: kind, message, the line of the block, and the traceback from the block on."""
    if isinstance(error, SystemExit):
        code = error.code
        said = "" if code is None else f" ({code})"
        return {"kind": "SystemExit", "message": f"The block ended itself by sys.exit{said}.", "line": 0, "trace": ""}
    kind = type(error).__name__
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be read)"
    frames = traceback.walk_tb(error.__traceback__)
    line = next((number for frame, number in frames if frame.f_code.co_filename == name), 0)
    if isinstance(error, SyntaxError) and error.filename == name:
        line = error.lineno or 0
    try:
        told = traceback.TracebackException(
            type(error), error, error.__traceback__, limit=-_FRAMES - _OWN_LEVELS, compact=True
        )
        _leave_out_own(told)
        trace = "".join(told.format())
    except Exception:  # of a class that cannot even be shown
        trace = f"{kind}: {message}\n"
    return {"kind": kind, "message": message[:2000], "line": line, "trace": trace[-8000:]}


def _leave_out_own(told: Any) -> None:
    """Remove the levels of this program from a traceback and from those it came from."""
    for one in _chain(told):
        one.stack[:] = [level for level in one.stack if os.path.dirname(level.filename) != _OWN][-_FRAMES:]
        if all(level.filename == ast.__file__ for level in one.stack):  # the block could not even be read
            one.stack.clear()


def _chain(told: Any) -> list[Any]:
    found: list[Any] = []
    while told is not None and len(found) < 20:
        found.append(told)
        told = told.__cause__ or told.__context__
    return found
