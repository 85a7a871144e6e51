"""A loopback server as a process, for driving the whole program against it.

    python -m tests.kit.loopback --api anthropic --script script.json --pace 200

prints its URL, then the environment that sends gsh-tui to it, one `NAME=value` a line, then an empty line. The script
is a JSON list of answers (see `script.parse_step`); without one every answer is `ok`. Ends on SIGTERM or SIGINT.
"""

import argparse
import asyncio
import json
import signal
from pathlib import Path

from tests.kit.loopback.apis import SPEECHES, loopback, variables
from tests.kit.loopback.script import Say, parse


async def serve(options: argparse.Namespace) -> None:
    """Serve until a signal comes."""
    script = parse(json.loads(Path(options.script).read_text("utf-8"))) if options.script else [[Say("ok")]]
    settings = {"pace": options.pace, "chunk": options.chunk, "port": options.port, "models": options.model}
    settings["strict"] = not options.lenient
    done = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, done.set)
    async with loopback(options.api, script, repeat=not options.once, **settings) as server:
        lines = [server.url, *(f"{name}={value}" for name, value in variables(options.api, server.url).items()), ""]
        print("\n".join(lines), flush=True)
        await done.wait()
        if options.log:
            asked = [{"method": r.method, "path": r.path, "kind": r.kind, "body": r.body} for r in server.requests]
            Path(options.log).write_text(json.dumps({"requests": asked, "refused": server.refused}, indent=1), "utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.kit.loopback", description="A provider on this machine.")
    parser.add_argument("--api", choices=sorted(SPEECHES), default="anthropic")
    parser.add_argument("--script", help="JSON file with the answers")
    parser.add_argument("--pace", type=float, default=0.0, help="deltas a second; 0: as fast as possible")
    parser.add_argument("--chunk", type=int, default=20, help="characters a delta")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", action="append", default=[], help="a model that exists (may be given again)")
    parser.add_argument("--once", action="store_true", help="do not repeat the last answer")
    parser.add_argument("--lenient", action="store_true", help="take requests with more in them than gsh-tui sends")
    parser.add_argument("--log", help="JSON file to write the requests to at the end")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
