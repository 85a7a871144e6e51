"""The configuration's JSON schema, for editors and as the reference of all keys.

Pure. The same on every machine: defaults that are folders of the user are left out.
"""

from __future__ import annotations

from typing import Any, cast

from gshtui.settings.model import Settings


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of the configuration file."""
    made = Settings.model_json_schema()
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    for definition in cast("dict[str, dict[str, Any]]", made.get("$defs", {})).values():
        for prop in cast("dict[str, dict[str, Any]]", definition.get("properties", {})).values():
            prop.pop("zero_is_unlimited", None)
            if rule := prop.pop("project", None):
                prop["x-project-may"] = _MAY[str(rule)]
    return made


_MAY = {
    "lower": "lower it",
    "fewer": "take items out",
    "true": "switch it on",
    "false": "switch it off",
    "asked": "set it",
}
