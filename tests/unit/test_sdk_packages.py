"""SDKs loaded by pieces: every name is still there, and what nobody asks for is not loaded."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from gshtui.providers.wire import sdk_packages
from gshtui.providers.wire.sdk_packages import load_by_pieces, reexports

FILES = {
    "__init__.py": "len('')\nfrom . import kinds\nfrom .client import Client\nfrom .extra import *\nready = [Client]\n",
    "client.py": "class Client: ...\n",
    "extra.py": "Extra = 1\n",
    "unused.py": "raise ImportError('nobody asked for this')\n",
    "kinds/__init__.py": '"""Kinds."""\nfrom .big import Big\nfrom .small import Small\n__all__ = ["Big", "Small"]\n',
    "kinds/big.py": "from .small import Small\nclass Big(Small): ...\n",
    "kinds/small.py": "class Small: ...\n",
    "kinds/lone.py": "Lone = 2\n",
    "doing/__init__.py": "from .part import Part\nmade = [Part]\nmade.append(Part)\n",
    "doing/part.py": "class Part: ...\n",
    "faults.py": "from .kinds.big import Big\nmade = []\ndef make(name, of=Big):\n    made.append(name); return of\n",
    "changed.py": "make = len\n",
}
LATE = ("faults", "changed")


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a made-up SDK."""
    name = f"made_up_{tmp_path.name.replace('-', '_')}"
    for file, text in FILES.items():
        path = tmp_path / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    for module in LATE:
        monkeypatch.setitem(sdk_packages._WHEN_CALLED, f"{name}.{module}", frozenset({"make"}))
    load_by_pieces(name)
    load_by_pieces(name)
    return name


def loaded(sdk: str) -> set[str]:
    return {name.removeprefix(f"{sdk}.") for name in sys.modules if name.startswith(f"{sdk}.")}


def test_only_what_is_asked_for_is_loaded(sdk: str) -> None:
    package = importlib.import_module(sdk)
    assert not loaded(sdk)
    assert package.Client.__module__ == f"{sdk}.client"
    assert loaded(sdk) == {"client"}
    assert package.kinds.Small is importlib.import_module(f"{sdk}.kinds.small").Small
    assert loaded(sdk) == {"client", "kinds", "kinds.small"}


def test_every_name_is_found_however_it_is_defined(sdk: str) -> None:
    package = importlib.import_module(sdk)
    assert package.ready == [package.Client]  # the package defines it, so it is run
    assert package.Extra == 1
    kinds = importlib.import_module(f"{sdk}.kinds")
    assert issubclass(kinds.Big, kinds.Small)
    assert importlib.import_module(f"{sdk}.kinds.lone").Lone == 2
    assert kinds.lone.Lone == 2
    assert kinds.__all__ == ["Big", "Small"]


def test_a_package_that_does_something_is_run_as_it_is(sdk: str) -> None:
    doing = importlib.import_module(f"{sdk}.doing")
    assert len(doing.made) == 2


def test_a_function_that_only_failures_need_loads_its_module_when_it_is_called(sdk: str) -> None:
    faults = importlib.import_module(f"{sdk}.faults")
    make = faults.make
    assert loaded(sdk) == {"faults"}
    assert make("first") is importlib.import_module(f"{sdk}.kinds.big").Big
    assert make("second", of=int) is int
    assert faults.made == ["first", "second"]  # the module has run once
    assert faults.make is not make  # the function itself, from then on


def test_a_module_with_late_functions_is_whole_for_whoever_wants_more_of_it(sdk: str) -> None:
    faults = importlib.import_module(f"{sdk}.faults")
    assert faults.made == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = faults.nothing
    changed = importlib.import_module(f"{sdk}.changed")  # it defines no such function: it is run as it is
    assert changed.make is len


def test_what_is_not_there_is_said_as_ever(sdk: str) -> None:
    package = importlib.import_module(sdk)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = package.Nothing
    with pytest.raises(ImportError, match="nobody asked"):
        importlib.import_module(f"{sdk}.unused")
    assert not hasattr(package.kinds, "__wrapped__")


def test_a_source_that_does_more_than_import_has_no_reexports() -> None:
    assert reexports("from .a import b as c\nfrom .d import *\n") == {"c": ("a", "b")}
    assert reexports("from .a import b\nb()\n") is None


def test_anthropics_sdk_streams_and_fails_with_a_twentieth_of_itself() -> None:
    """All that it defines is there, but its types are loaded only when somebody asks, or for a failure."""
    code = """if True:
        import asyncio, sys
        import httpx2
        from gshtui.providers.wire.provider_errors import ErrorOrigin
        from gshtui.providers.wire.sdk_connection import imported
        sdk = asyncio.run(imported("anthropic", ErrorOrigin("Anthropic", "", "", "")))
        client = sdk.AsyncAnthropic(api_key="x")
        sdk.AsyncStream[object]
        assert issubclass(sdk.RateLimitError, sdk.APIStatusError)
        assert "aiohttp" not in sys.modules
        print(len([name for name in sys.modules if name.startswith("anthropic")]))
        answer = httpx2.Response(429, request=httpx2.Request("POST", "http://x"))
        assert type(client._make_status_error("no", body=None, response=answer)) is sdk.RateLimitError
        import anthropic.types
        assert anthropic.types.Message.__name__ == "Message"
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    spec = importlib.util.find_spec("anthropic")
    assert spec is not None
    assert spec.origin is not None
    files = len(list(Path(spec.origin).parent.rglob("*.py")))
    assert int(done.stdout) < files / 20
