"""Windows and prices in the form of models.dev: what ships, what an update brings, and what is wrong in one."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from gshtui.providers.adapters.openai_chat import OpenAIChat
from gshtui.providers.catalog import Catalog, plain_name
from gshtui.providers.model_facts import FACTS_FILE, FactsError, forget_facts, keep_facts, read_facts
from gshtui.providers.wire.sdk_connection import Endpoint
from gshtui.settings import paths
from tests.kit.warm_program import run_gsh

SHIPPED = Path(paths.__file__).parents[1] / "providers" / FACTS_FILE


def model(id: str, context: int = 1000, **more: Any) -> dict[str, Any]:
    return {"id": id, "name": id.title(), "limit": {"context": context, "output": 100}, **more}


def models(*listed: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "x", "name": "X", "env": ["X"], "models": {one["id"]: one for one in listed}, **more}


def kept(data: dict[str, Any]) -> Catalog:
    keep_facts(json.dumps(data).encode(), ())
    return Catalog.load()


def test_what_ships_is_in_the_form_and_every_fact_has_its_place() -> None:
    raw = json.loads(SHIPPED.read_bytes())
    places = read_facts(SHIPPED.read_bytes()).places
    assert len(places) == sum(len(provider["models"]) for provider in raw.values())
    catalog = Catalog.load()
    assert catalog.problems == ()
    for (provider, name), facts in places.items():
        found = catalog.find(name, provider)
        assert found is not None
        assert (found.window, found.label, found.price_input) == (
            facts.limit.context,
            facts.name,
            facts.cost and facts.cost.input,
        )
    for name in ("bedrock", "vertex", "openrouter"):
        default = catalog.default(name)
        assert default is not None and default.default and default.thinking and default.window == 1_000_000


def test_an_update_wins_over_what_ships_adds_what_is_new_and_keeps_what_gsh_knows() -> None:
    new = model("claude-next", 2_000, reasoning=True, cost={"input": 1, "output": 2}, modalities={"input": ["image"]})
    catalog = kept(
        {
            "anthropic": models(model("claude-sonnet-5-5", 5_000, cost={"input": 7}, temperature=False), new),
            "amazon-bedrock": models(model("eu.anthropic.claude-opus-5", 7_000, tool_call={"supported": False})),
        }
    )
    sonnet = catalog.find("sonnet")
    assert sonnet is not None
    assert (sonnet.name, sonnet.window, sonnet.price_input, sonnet.thinking) == (
        "claude-sonnet-5-5",
        5_000,
        7,
        "adaptive",
    )
    added = catalog.find("claude-next")
    assert added is not None
    assert (added.window, added.images, added.thinking, added.price_output) == (2_000, True, "adaptive", 2)
    hosted = catalog.find("eu.anthropic.claude-opus-5", "bedrock")
    assert hosted is not None
    assert (hosted.window, hosted.tools, hosted.thinking, hosted.aliases) == (7_000, False, "adaptive", ())
    assert catalog.find("gemini") is not None, "what it does not name is as it ships"


def test_an_older_update_only_adds() -> None:
    keep_facts(json.dumps({"openai": models(model("gpt-4o", 5), model("gpt-older", 6))}).encode(), ())
    path = paths.state_dir() / FACTS_FILE
    path.write_bytes(path.read_bytes().replace(json.loads(path.read_bytes())["day"].encode(), b"2020-01-01"))
    catalog = Catalog.load()
    found, older = catalog.find("gpt-4o"), catalog.find("gpt-older")
    assert found is not None and found.window == 128_000
    assert older is not None and older.window == 6


def test_a_server_of_ones_own_is_known_by_its_address() -> None:
    catalog = kept(
        {"groq": models(model("big/llama", 131_072, cost={"input": 0.1, "output": 0.2}), api="https://api.x.ai/v1")}
    )
    known = OpenAIChat(Endpoint("mine", base_url="https://api.x.ai/v1", catalog=catalog)).capabilities("big/llama")
    assert (known.window, known.price_output) == (131_072, 0.2)
    elsewhere = OpenAIChat(Endpoint("mine", base_url="https://other/v1", catalog=catalog)).capabilities("big/llama")
    assert elsewhere.price_output is None


WRONG: dict[str, bytes] = {
    "no json": b"<html>",
    "a list": b"[]",
    "no models": b'{"openai": {"id": "openai"}}',
    "nothing": b"{}",
    "only wrong ones": json.dumps({"openai": models(model("a", 0), model("b\n"), {"id": "c", "limit": "x"})}).encode(),
    "no words": json.dumps({"openai": models(model("dall", modalities={"output": ["image"]}))}).encode(),
    "deep": b'{"openai": {"models": {"a": ' + b"[" * 100_000,
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_of_another_form_changes_nothing(name: str) -> None:
    with pytest.raises(FactsError) as caught:
        keep_facts(WRONG[name], ())
    assert "\n" not in caught.value.message and len(caught.value.message) < 300
    assert not (paths.state_dir() / FACTS_FILE).exists()


def test_a_model_that_is_wrong_does_not_take_the_others_with_it() -> None:
    catalog = kept({"openai": models(model("good"), {"id": "bad", "limit": {"context": "many"}})})
    assert catalog.find("good") is not None and catalog.find("bad") is None


def test_a_file_that_was_spoilt_counts_for_nothing() -> None:
    (paths.state_dir() / FACTS_FILE).write_bytes(b"\x00")
    assert Catalog.load() == Catalog.load() and Catalog.load().find("opus") is not None


NAMES = {
    "us.anthropic.claude-opus-5-v1:0": "claude-opus-5",
    "anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5",
    "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-8": "claude-opus-4-8",
    "claude-haiku-4-5@20251001": "claude-haiku-4-5",
    "claude-sonnet-5@default": "claude-sonnet-5",
    "anthropic/claude-sonnet-5.5": "claude-sonnet-5-5",
    "openai/gpt-4.1": "gpt-4.1",
    "notanthropic.claude-x": "notanthropic.claude-x",
}


def test_others_names_mean_the_vendors_models() -> None:
    assert {name: plain_name(name) for name in NAMES} == NAMES


class Source(BaseHTTPRequestHandler):
    """Where the facts are fetched from."""

    bodies: ClassVar[dict[str, tuple[int, bytes]]] = {
        "/api.json": (200, json.dumps({"openai": models(model("gpt-new"))}).encode()),
        "/page": (200, b"<html>"),
    }

    def do_GET(self) -> None:
        status, body = self.bodies.get(self.path, (404, b""))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def source() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Source)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_command_takes_an_address_and_a_file_and_goes_back(source: str, tmp_path: Path) -> None:
    done = run_gsh("models", "update", f"{source}/api.json", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == {"models": 1, "providers": 1, "new": ["openai/gpt-new"]}
    assert "gpt-new" in run_gsh("models", "openai").out
    file = tmp_path / "api.json"
    file.write_text(json.dumps({"google": models(model("gemini-new"))}))
    assert run_gsh("models", "update", str(file)).out.startswith("Windows and prices of 1 model of 1 provider.")
    assert "gpt-new" not in run_gsh("models").out
    assert run_gsh("models", "update", "--undo").code == 0
    assert not forget_facts()


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        ("/page", 1, "is not taken. It is not in the form of models.dev"),
        ("/none", 3, "answered 404"),
        ("http://127.0.0.1:9/x", 3, "cannot be reached"),
        ("nowhere.json", 1, "there is no such file"),
        ("/", 3, "answered 404"),
    ],
)
def test_what_cannot_be_taken_is_one_sentence(source: str, where: str, code: int, said: str) -> None:
    done = run_gsh("models", "update", f"{source}{where}" if where.startswith("/") else where)
    assert (done.code, done.out) == (code, "")
    assert said in done.err and done.err.count("\n") == 1 and "Nothing was changed." in done.err
