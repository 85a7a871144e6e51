"""The server of tests: the product's own model server, with scripts, faults and rules that requests have to keep."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gshtui.programs.check.model_server import ModelRequest as Asked
from gshtui.programs.check.model_server import ModelServer, send_frame
from tests.kit.loopback.script import Answer, Fault, Say, fault
from tests.kit.loopback.speech import Frame, Refused, Speech, well_formed

__all__ = ["Asked", "Loopback"]


class Loopback(ModelServer[Speech]):
    """A provider on this machine. Use with `async with`; `url` is its base.

    Args:
        script: answers in the order of the requests; the last one is repeated when `repeat` is set. `choose` comes
            first, where it gives one.
        key: the only key that is accepted; empty: any.
        models: the only models that exist; empty: any.
        window: tokens (bytes / 4) that a request may have; 0: any.
    """

    script: Sequence[Answer] = ()
    key: str = ""
    window: int = 0
    repeat: bool = False
    strict: bool = True
    refused: list[str] = msgspec.field(default_factory=list[str])
    """Rules that requests broke, as they were told to the client."""
    answered: int = 0

    async def _respond(self, asked: Asked, writer: asyncio.StreamWriter, gone: asyncio.Task[None]) -> bool:
        model = self.speech.model(asked.path, asked.body) if asked.kind in ("chat", "show") else ""
        refusal = self._refusal(asked, model)
        if refusal is not None:
            return await self._whole(writer, *self.speech.refusal(refusal, model))
        if asked.kind != "chat":
            return await self._whole(writer, 200, {}, self.speech.other(asked.kind, self.models, asked.body))
        answer = (self.choose(asked) if self.choose is not None else None) or self._next()
        wrong = fault(answer)
        if wrong is not None and wrong.kind in ("status", "quota", "context", "unsigned"):
            status, headers, body = self.speech.refusal(wrong, model)
            return await self._whole(writer, status, {**headers, **wrong.headers}, body)
        if wrong is not None and wrong.kind == "garbage":
            page = b"<!doctype html><title>Welcome</title><h1>It works!</h1>"
            return await self._whole(writer, 200, {"content-type": "text/html"}, page)
        if wrong is not None and wrong.kind == "hang" and wrong.after < 0:
            return await self._hang(gone)
        frames = self.speech.frames(answer, model, self.chunk)
        if wrong is None or wrong.kind == "empty":
            return await self._stream(writer, frames, gone) and await self._ended(writer, asked, answer)
        if not await self._stream(writer, _before(frames, wrong.after), gone):
            return False
        return await self._break(writer, wrong, gone, asked, answer)

    def _next(self) -> Answer:
        number = self.answered
        self.answered += 1
        if number < len(self.script):
            return self.script[number]
        if self.repeat and self.script:
            return self.script[-1]
        return [Fault.status(500, message="the script has no further answer")] if self.script else [Say("ok")]

    def _refusal(self, asked: Asked, model: str) -> Fault | None:
        if not asked.kind:
            return Fault.status(404, message=f"no such path: {asked.path}")
        if self.key and self.speech.key(asked.headers) != self.key:
            return Fault.status(401)
        if model and self.models and model not in self.models:
            return Fault.status(404)
        if asked.kind != "chat":
            return None
        if self.strict:
            try:
                well_formed(asked.body)
                self.speech.check(asked.path, asked.headers, asked.body)
            except Refused as error:
                self.refused.append(str(error))
                return Fault.status(400, message=str(error))
        if self.window and len(json.dumps(asked.body)) // 4 > self.window:
            return Fault.context()
        return None

    async def _break(
        self, writer: asyncio.StreamWriter, wrong: Fault, gone: asyncio.Task[None], asked: Asked, answer: Answer
    ) -> bool:
        match wrong.kind:
            case "cut":
                writer.transport.abort()
                return False
            case "hang":
                return await self._hang(gone)
            case "error":
                await send_frame(writer, Frame(self.speech.trouble()))
            case "noise":
                await send_frame(writer, Frame(b"event: x\ndata: {\xff\xfe not json\n\n\x00\x01{{{\n"))
            case _:
                pass
        return await self._ended(writer, asked, answer)

    async def _hang(self, gone: asyncio.Task[None]) -> bool:
        await asyncio.wait({gone})
        self.disconnected.set()
        return False


def _before(frames: Iterable[Frame], after: int) -> Iterator[Frame]:
    """The frames before the delta with this number, from 0."""
    deltas = 0
    for frame in frames:
        if frame.delta and deltas >= after:
            return
        deltas += frame.delta
        yield frame
