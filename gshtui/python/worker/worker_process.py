"""The program of an interpreter's process: forks the interpreter, and watches it as its parent.

Started by `gshtui.python.interpreter`, which imports this module from its file, with the options as JSON in the first
argument. Runs under the person's Python with nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
from typing import Any

from gshtui.python.worker import supervisor
from gshtui.python.worker.channel import Channel
from gshtui.python.worker.console import Console, Streams
from gshtui.python.worker.kept_values import KeptValues
from gshtui.python.worker.namespace import make_namespace


def main() -> None:
    """Run until the hub, the interpreter or its patience ends."""
    options: dict[str, Any] = json.loads(sys.argv[1])
    supervisor.adopt()
    supervisor.close_to_others(True)
    child = os.fork()
    if child:
        os.close(options["channel"])
        watching = supervisor.Supervisor(options["owner"], child, options["processes"], options["memory"])
        _leave_output()
        os._exit(watching.watch())
    os.close(options["owner"])
    supervisor.close_to_others(False)  # what this one takes is measured, and debuggers look at it
    os.setsid()
    _limit(options)
    interpret(options)


def interpret(options: dict[str, Any]) -> None:
    """Be the interpreter."""
    way = socket.socket(fileno=options["channel"])
    way.set_inheritable(False)
    channel = Channel(way)
    streams = Streams()
    # What this program is made of is none of the person's modules.
    for name in [name for name in sys.modules if name == "gshtui" or name.startswith("gshtui.")]:
        del sys.modules[name]
    sys.argv = [""]
    sys.path.insert(0, "")
    namespace = make_namespace(channel, network=options["network"])
    console = Console(channel, streams, namespace, KeptValues(namespace, options["cloudpickle"]))
    console.serve()


def _leave_output() -> None:
    """Let go of the interpreter's output, so that this process does not keep it open."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _limit(options: dict[str, Any]) -> None:
    """Of every single process; `Supervisor` limits them together."""
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: options["file"]}
    if options["memory"]:
        wanted[resource.RLIMIT_DATA] = options["memory"]
    for kind, most in wanted.items():
        if kind != resource.RLIMIT_CORE and not most:
            continue
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):
            pass  # a system without this limit
