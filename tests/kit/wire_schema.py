"""The wire's schema as data, and the deliberate way to accept a change of it.

`python -m tests.kit.wire_schema` writes the golden file. What it does to readers of another version is a person's
decision: a new event or an optional field is harmless, anything else needs another `VERSION` in `gshtui/bus/wire.py`.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus.wire import EVENT_TYPES, VERSION

GOLDEN = Path(__file__).parent.parent / "unit" / "golden" / "wire_schema.json"


def schema() -> dict[str, Any]:
    """JSON schema of every event and of the structures inside, without the words that describe them."""
    kinds = [EVENT_TYPES[name] for name in sorted(EVENT_TYPES)]
    _, components = msgspec.json.schema_components(kinds)
    for component in components.values():
        component.get("properties", {}).pop("beyond", None)  # never on the wire under this name
    # Through JSON, so that it compares equal to what is read from the file.
    return json.loads(json.dumps({"version": VERSION, "types": _without_words(components)}))


def _without_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_words(item) for key, item in value.items() if key != "description" or isinstance(item, dict)
        }
    if isinstance(value, list):
        return [_without_words(item) for item in value]
    return value


def breaks(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What a reader or writer of the old schema would trip over: one sentence each."""
    found: list[str] = []
    for name, was in old["types"].items():
        now = new["types"].get(name)
        if now is None:
            found.append(f"{name} is gone")
            continue
        fields, required = now.get("properties", {}), set(now.get("required", []))
        for field, kind in was.get("properties", {}).items():
            if field not in fields:
                found.append(f"{name}.{field} is gone")
            elif fields[field] != kind:
                found.append(f"{name}.{field} is another type or has another default")
        for field in sorted(required - set(was.get("required", []))):
            found.append(f"{name}.{field} is required now")
    return found


def golden() -> dict[str, Any]:
    """The accepted schema."""
    return json.loads(GOLDEN.read_text())


def main() -> None:
    """Write the golden file, and say what the change breaks."""
    new = schema()
    old = golden() if GOLDEN.exists() else {"version": VERSION, "types": {}}
    for sentence in breaks(old, new) if old["version"] == VERSION else []:
        print(f"breaks readers of version {VERSION}: {sentence}")
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(new, indent=1, sort_keys=True) + "\n")
    print(f"{len(new['types'])} types written to {GOLDEN}")


if __name__ == "__main__":
    main()
