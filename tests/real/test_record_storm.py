"""Random sessions whose record fails: the wire, the inspector and the record agree on what was sent."""

import asyncio
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.context.cuts.summary import HEADINGS
from gshtui.settings import trust
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Fault, Say
from tests.kit.loopback.server import Asked
from tests.kit.storms import seeds
from tests.kit.warm_program import SDKS, WarmProgram, shared

_CHILD = "tests.kit.record_storm:main"
_MARK = re.compile(r"\b[PA]-\d+-\d+\b")
_SUMMARY = "CONTEXT CHECKPOINT"


class Model:
    """Answers by chance: words, reads, writes that are asked about, refusals that are tried again, broken streams."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._seed = seed
        self._number = 0

    def __call__(self, asked: Asked) -> Answer:
        self._number += 1
        if _SUMMARY in json.dumps(asked.body):
            return [Say("\n\n".join(f"## {heading}\nNothing of note." for heading in HEADINGS))]
        words = Say(f"A-{self._seed}-{self._number} " + "and so on " * self._chance.choice((0, 0, 30)))
        how = self._chance.random()
        if how < 0.06:
            return [Fault.status(529, retry_after=0)]
        if how < 0.12:
            return [words, Fault.cut_after(3)]
        if how < 0.5 and len(asked.body["messages"]) % 7:
            calls = [self._call(number) for number in range(self._chance.choice((1, 1, 2)))]
            return [words, *calls] if self._chance.random() < 0.7 else calls
        return [words]

    def _call(self, number: int) -> Call:
        id = f"toolu_{self._number}_{number}"
        name, path = self._chance.choice((("read", "notes.txt"), ("read", "missing.txt"), ("write", f"{id}.txt")))
        return Call(name, {"path": path} if name == "read" else {"path": path, "content": f"C-{id}"}, id)


async def _leg(program: WarmProgram, project: Path, environment: dict[str, str], *words: str) -> tuple[int, list[Any]]:
    run = program.start(*words, call=_CHILD, cwd=project, env=environment)
    result = await asyncio.to_thread(run.finish)
    assert result.code in (0, -9), f"{words}: {result.err[-3_000:]}"
    return result.code, [json.loads(line) for line in result.out.splitlines()]


@pytest.mark.parametrize("seed", seeds(300, by=60))
async def test_wire_inspector_and_record_agree(seed: int, tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    (project / "notes.txt").write_text("the notes\n" * 5, encoding="utf-8")
    trust.trust(project, None)
    program = shared(*SDKS, "tests.kit.record_storm")
    async with loopback("anthropic", choose=Model(seed), pace=0) as server:
        environment = variables("anthropic", server.url)
        legs = [
            await _leg(program, project, environment, str(seed), str(n))
            for n in range(random.Random(seed).randint(1, 3))
        ]
        place = tmp_path / "record.json"
        code, last = await _leg(program, project, environment, str(seed), str(place))
        assert code == 0
        record = json.loads(place.read_text(encoding="utf-8"))
        _check(record, [asked.body for asked in server.chats], [*legs, (0, last)])
        assert server.refused == []


def _check(record: list[dict[str, Any]], sent: list[Any], legs: list[tuple[int, list[Any]]]) -> None:
    recorded = {message["id"] for one in record for message in one["log"]}
    for code, lines in legs:
        said = {
            what: {words[0] for name, *words in lines if name == what and words}
            for what in ("sent", "shown", "withdrawn", "appended")
        }
        assert said["shown"] <= recorded, "what was shown as sent is in the record"
        assert not said["withdrawn"] & (recorded | said["shown"]), "what came back was not sent"
        assert all(words[1] for name, *words in lines if name == "withdrawn"), "it says why"
        if code == 0:
            assert said["sent"] == (said["shown"] & said["sent"]) | said["withdrawn"], "no prompt is lost"
        if ["healed"] in lines and code == 0:
            assert said["appended"] <= recorded, "what came meanwhile is recorded"
    requests = [request for one in record for request in one["requests"]]
    results = {call: text for one in record for message in one["log"] for call, text in message["results"].items()}
    words = [mark for one in record for message in one["log"] for mark in _MARK.findall(message["text"])]
    known = set(words)
    for request in requests:
        assert request["exact"] or not request["sent"]
    for body in sent:
        text = json.dumps(body)
        if _SUMMARY not in text:
            assert any(_same(body, request["body"]) for request in requests), "a request is in the record"
        marks = list(dict.fromkeys(_MARK.findall(text)))
        assert set(marks) <= known, "a request has nothing that the record has not"
        for call, result in _results(body):
            assert result.startswith("[output pruned") or result == results.get(call), "a result is the recorded one"
    (*_, final) = sent
    (open_one,) = [
        one for one in record if any(words_of(body) == words_of(final) for body in (r["body"] for r in one["requests"]))
    ]
    if not open_one["cuts"]:
        log = [mark for message in open_one["log"][:-1] for mark in _MARK.findall(message["text"])]
        assert list(dict.fromkeys(_MARK.findall(json.dumps(final)))) == log, "all that is recorded is sent, in order"


def words_of(body: Any) -> Any:
    return {name: value for name, value in body.items() if name != "max_tokens"}


def _same(body: Any, other: Any) -> bool:
    return words_of(body) == words_of(other)


def _results(body: Any) -> Iterator[tuple[str, str]]:
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                content = block["content"]
                yield (
                    block["tool_use_id"],
                    content if isinstance(content, str) else "".join(one.get("text", "") for one in content),
                )
