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
import reprlib
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable
from typing import Any, cast

from gshtui.python.worker.channel import Channel, HubGone
from gshtui.python.worker.drawn_figures import add_picture, is_picture, prepare_showing, take_figures
from gshtui.python.worker.kept_values import KeptValues
from gshtui.python.worker.namespace import Namespace

_LONGEST = 20_000
"""Characters of one value."""
_ROWS, _COLUMNS, _CELL = 30, 20, 60
"""Of a table that is shown."""
_NAMES, _PREVIEW = 500, 120
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _PREVIEW
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxdict = _short.maxfrozenset = 8


def describe_value(value: Any) -> dict[str, Any]:
    """As `{"text": …}`, or as `{"columns": …, "rows": …, "total": …}` with texts only."""
    try:
        table = _table(value)
    except Exception:  # a frame that cannot be taken apart still has a representation
        table = None
    if table is not None:
        return table
    text = repr(value)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n… ({len(text) - _LONGEST:,} characters omitted) …\n{text[-_LONGEST // 2 :]}"
    return {"text": text}


def _table(value: Any) -> dict[str, Any] | None:
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.Series):
        value = value.to_frame(value.name if value.name is not None else "value")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        shown = value.iloc[:_ROWS, :_COLUMNS]
        columns = [str(value.index.name or ""), *map(str, shown.columns)]
        rows = [[str(index), *map(_cell, row)] for index, row in zip(shown.index, shown.itertuples(index=False))]
        return _made(columns, rows, len(value), max(0, value.shape[1] - _COLUMNS))
    polars: Any = sys.modules.get("polars")
    if polars is not None and isinstance(value, polars.DataFrame):
        shown = value[:_ROWS, :_COLUMNS]
        return _made(list(shown.columns), [list(map(_cell, row)) for row in shown.rows()], len(value), 0)
    items = cast("list[Any]", value if type(value) is list else [])
    if items and all(type(item) is dict for item in items[: _ROWS + 1]):
        first: list[dict[Any, Any]] = items[:_ROWS]
        names = list(dict.fromkeys(str(key) for item in first for key in item))
        if not names:
            return None
        rows = [[_cell(by_name.get(name, "")) for name in names[:_COLUMNS]] for by_name in map(_by_name, first)]
        return _made(names[:_COLUMNS], rows, len(items), max(0, len(names) - _COLUMNS))
    return None


def _by_name(item: dict[Any, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in item.items()}


def _made(columns: list[str], rows: list[list[str]], total: int, hidden: int) -> dict[str, Any]:
    return {"columns": columns, "rows": rows, "total": total, "hidden": hidden}


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else _short.repr(value)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def variable_names(own: dict[str, Any]) -> list[str]:
    """The names, at most so many."""
    return list(own)[:_NAMES]


def describe_variables(own: dict[str, Any]) -> list[dict[str, str]]:
    """Name, type, size and the beginning of each variable."""
    return [_variable(name, value) for name, value in list(own.items())[:_NAMES]]


def _variable(name: str, value: Any) -> dict[str, str]:
    kind = type(value).__name__
    try:
        size = _size(value)
    except Exception:  # a __len__ or shape of somebody's own
        size = ""
    try:
        preview = _preview(value)
    except Exception as error:  # a __repr__ of somebody's own
        preview = f"({type(error).__name__} in its __repr__)"
    return {"name": name, "type": kind, "size": size, "preview": preview[:_PREVIEW]}


def _size(value: Any) -> str:
    kind = cast("Any", type(value))
    shape = cast("Any", None if isinstance(value, type) else getattr(value, "shape", None))
    if type(shape) is tuple:
        return " × ".join(map(str, cast("tuple[Any, ...]", shape))) or "1"
    if not hasattr(kind, "__len__"):
        return ""
    many = len(cast("list[Any]", value))
    return f"{many:,} B" if kind in (bytes, bytearray) else f"{many:,}"


def _preview(value: Any) -> str:
    if isinstance(value, (types.FunctionType, type)):
        return (value.__doc__ or "").strip().partition("\n")[0]
    columns: Any = getattr(value, "columns", None)
    if hasattr(value, "shape") and columns is not None:
        return ", ".join(map(str, list(columns)[:_COLUMNS]))
    return " ".join(_short.repr(value).split())


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
