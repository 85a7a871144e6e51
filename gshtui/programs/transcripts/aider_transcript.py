"""aider's chats: `.aider.chat.history.md` at the root of the repository, one file for all chats in it.

A chat begins with a heading that has its time. The lines of a prompt begin with `#### `, those of the program itself
with `> `, and both end in two blanks; the rest is what the model said, written once it is whole. When a prompt was
entered is in `.aider.input.history`. Only the last chat of a file is read: what an earlier one goes on to say stands
below a heading that is not its own. Never writes. Called by `transcript_readers`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from gshtui.bus.messages import Usage
from gshtui.programs.transcripts.program_transcript import (
    MOST_BYTES,
    ProgramTranscript,
    TranscriptBuilder,
    TranscriptQuery,
    newest_file,
    seconds,
)

PROGRAM = "aider"
TIMED = False
_HEADING = re.compile(rb"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)$", re.MULTILINE)
_MODEL = re.compile(r"(?:Main model|Model): (\S+) with ")
_REPORT = re.compile(
    r"^Tokens: (\S+) sent(?:, (\S+) cache write)?(?:, (\S+) cache hit)?, (\S+) received\."
    r"(?:\s+Cost: \$(\d+\.\d+) message)?",
    re.MULTILINE,
)
_PROVIDERS = ("anthropic", "gemini", "ollama", "openai")
"""What stands before the slash in the name of a model that one of our providers has, too."""
_THINKING = "<thinking-content-"
_TAIL = 1_000_000
"""Bytes at a file's end in which headings are looked for first."""
_INPUTS = 1_000_000
"""Bytes at the end of the file of inputs that are read."""
_EARLIER = 2.0
"""Seconds by which a chat may seem older than its program: its heading has whole ones."""


class AiderChat(msgspec.Struct, frozen=True):
    """One chat: its file, its id, when it began in epoch seconds, and the file of all inputs."""

    path: Path
    id: str
    at: float
    inputs: Path


def find(wanted: TranscriptQuery, environ: Mapping[str, str], home: Path) -> AiderChat | None:
    """The chat of this id, else the folder's last since the agent began, if it is the last one of its file."""
    del home
    for path in newest_file(history_files(wanted.cwd, environ)):
        chats = _chats(path, environ, wanted.cwd)
        if chats and (chats[-1].id == wanted.id if wanted.id else chats[-1].at >= wanted.since - _EARLIER):
            return chats[-1]
    return None


def chats_since(cwd: str, since: float, environ: Mapping[str, str]) -> list[AiderChat]:
    """The chats that were begun in a folder since then, in epoch seconds. Raises `OSError`."""
    files = newest_file(history_files(cwd, environ), since)
    return [chat for path in files for chat in _chats(path, environ, cwd) if chat.at >= since - _EARLIER]


def history_files(cwd: str, environ: Mapping[str, str]) -> list[Path]:
    """Where the chats of a folder may be: where the environment says, in its repository, or in itself."""
    folder = Path(cwd)
    if named := environ.get("AIDER_CHAT_HISTORY_FILE", "").strip():
        return [folder / Path(named).expanduser()]
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    return [each / ".aider.chat.history.md" for each in dict.fromkeys((root, folder))]


def _chats(path: Path, environ: Mapping[str, str], cwd: str) -> list[AiderChat]:
    """The chats of a file, as far as its end has them: the last one at least. Raises `OSError`."""
    found: list[re.Match[bytes]] = []
    for most in (_TAIL, MOST_BYTES):
        if found := list(_HEADING.finditer(_end_of(path, most)[0])):
            break
    named = environ.get("AIDER_INPUT_HISTORY_FILE", "").strip()
    inputs = Path(cwd) / Path(named).expanduser() if named else path.with_name(".aider.input.history")
    return [_chat(path, each, inputs) for each in found]


def _chat(path: Path, heading: re.Match[bytes], inputs: Path) -> AiderChat:
    began = heading.group(1).decode()
    place = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:8]
    return AiderChat(path, f"{re.sub('[^0-9]', '', began)}-{place}", seconds(began), inputs)


def _end_of(path: Path, most: int) -> tuple[bytes, int]:
    """The last `most` bytes of a file, and where they begin. Raises `OSError`."""
    with path.open("rb") as file:
        begin = max(0, os.fstat(file.fileno()).st_size - most)
        file.seek(begin)
        return file.read(most), begin


def read(place: AiderChat, most: int = MOST_BYTES) -> ProgramTranscript:
    """The chat, as far as it is in the last `most` bytes; nothing once another one was begun. Raises `OSError`."""
    book = TranscriptBuilder(place.path, PROGRAM)
    data, begin = _end_of(place.path, most)
    headings = list(_HEADING.finditer(data))
    if headings and _chat(place.path, headings[-1], place.inputs).id != place.id:
        return book.transcript
    start = headings[-1].end() if headings else 0
    parts = list(_parts(data[start:], begin + start))
    if not headings:  # it begins somewhere before
        parts = parts[next((at for at, part in enumerate(parts) if part.role == "user"), len(parts)) :]
    entered = _times([part.text for part in parts if part.role == "user"], place)
    at, message, model = place.at, "", ""
    for part in parts:
        if part.role == "user":
            at, message = entered.pop(0), f"prompt at {part.offset}"
            book.add_text("user", part.text, at, message)
        elif part.role == "assistant":
            thought, said = _thought_and_said(part.text)
            book.add_request(f"answer at {part.offset}", at, model, None)
            book.add_thinking(thought, at, message)
            book.add_text("assistant", said, at, message)
        else:
            model = named.group(1) if (named := _MODEL.search(part.text)) else model
            book.add_text("system", part.text, at, message, kind="system")
    return book.transcript


class AnswerReport(msgspec.Struct, frozen=True):
    """What aider says of an answer below it. It rounds: tokens from a thousand on to two digits or whole thousands."""

    id: str
    at: float
    """When its prompt was entered, in epoch seconds."""
    provider: str
    """One of ours, where the model's name says it; else empty."""
    model: str
    usage: Usage
    cost: float | None
    """US dollars, where aider knows the price."""


def reports(place: AiderChat) -> list[AnswerReport]:
    """The reports of a chat, in order; none once another one was begun in its file. Raises `OSError`."""
    data, begin = _end_of(place.path, MOST_BYTES)
    headings = list(_HEADING.finditer(data))
    if not headings or _chat(place.path, headings[-1], place.inputs).id != place.id:
        return []
    start = headings[-1].end()
    parts = list(_parts(data[start:], begin + start))
    entered = _times([part.text for part in parts if part.role == "user"], place)
    at, provider, model = place.at, "", ""
    found: list[AnswerReport] = []
    for part in parts:
        if part.role == "user":
            at = entered.pop(0) or at
        elif part.role == "system":
            if named := _MODEL.search(part.text):
                before, slash, after = named.group(1).partition("/")
                provider, model = (before, after) if slash and before in _PROVIDERS else ("", named.group(1))
            for number, told in enumerate(_REPORT.finditer(part.text)):
                sent, written, hit, received = (_count(figure) for figure in told.groups()[:4])
                usage = Usage(max(0, sent - hit - written), received, cache_read=hit, cache_write=written)
                cost = float(told.group(5)) if told.group(5) else None
                found.append(AnswerReport(f"report at {part.offset}.{number}", at, provider, model, usage, cost))
    return found


def _count(figure: str | None) -> int:
    """Tokens, of `812`, `2.4k` or `31k`; 0 of anything else."""
    try:
        return round(float(figure.removesuffix("k")) * (1000 if figure.endswith("k") else 1)) if figure else 0
    except ValueError:
        return 0


class _Part(msgspec.Struct):
    """Lines in a row of the same kind. `offset`: of the first one in the file."""

    role: str
    text: str
    offset: int


def _parts(data: bytes, offset: int) -> Iterator[_Part]:
    """What stands below a heading, piece by piece."""
    part = _Part("", "", offset)
    for line in data.split(b"\n"):
        text, role = line.decode("utf-8", "replace"), "assistant"
        if text.startswith("#### ") and text.endswith("  "):
            text, role = text[5:-2], "user"
        elif text.startswith("> ") and text.endswith("  "):
            text, role = text[2:-2], "system"
        elif not text and part.role == "user":
            role = ""  # two prompts in a row have such a line between them
        if role == part.role:
            part.text += f"\n{text}"
        else:
            if part.role:
                yield _stripped(part)
            part = _Part(role, text, offset)
        offset += len(line) + 1
    if part.role:
        yield _stripped(part)


def _thought_and_said(text: str) -> tuple[str, str]:
    """The reasoning at the beginning of an answer, which stands between tags, and the rest."""
    if not text.startswith(_THINKING):
        return "", text
    tag, _, rest = text[1:].partition(">")
    thought, end, said = rest.partition(f"</{tag}>")
    return (thought.strip("\n"), said.strip("\n")) if end else ("", text)


def _stripped(part: _Part) -> _Part:
    return _Part(part.role, part.text.strip("\n") if part.role == "assistant" else part.text, part.offset)


def _times(prompts: Sequence[str], place: AiderChat) -> list[float]:
    """When each of these prompts was entered, in epoch seconds; 0: nobody knows."""
    try:
        inputs = [one for one in _inputs(place.inputs) if one[0] >= place.at - _EARLIER]
    except OSError:
        inputs = []
    found: list[float] = []
    for prompt in reversed(prompts):
        wanted = "".join(prompt.split())
        while inputs and "".join(inputs[-1][1].split()) != wanted:
            inputs.pop()  # an answer to a question of the program
        found.append(inputs.pop()[0] if inputs else 0.0)
    return found[::-1]


def _inputs(path: Path) -> list[tuple[float, str]]:
    """Everything that was entered: when, in epoch seconds, and what. Raises `OSError`."""
    found: list[tuple[float, list[str]]] = []
    for line in _end_of(path, _INPUTS)[0].decode("utf-8", "replace").split("\n"):
        if line.startswith("# "):
            found.append((seconds(line[2:]), []))
        elif line.startswith("+") and found:
            found[-1][1].append(line[1:])
    return [(at, "\n".join(lines)) for at, lines in found]
