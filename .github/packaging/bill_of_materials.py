"""Prints what a wheel of ours installs as a CycloneDX document: `bill_of_materials.py WHEEL LOCK`.

The names are those that pip would install for this very Python, at the versions of the lock, with the hashes that the
index gives.
"""

from __future__ import annotations

import json
import subprocess
import sys


def main(wheel: str, lock: str) -> None:
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--dry-run",
        "--ignore-installed",
    ]
    done = subprocess.run([*pip, "--report", "-", "--constraint", lock, wheel], check=True, stdout=subprocess.PIPE)
    components: list[dict[str, object]] = []
    for item in json.loads(done.stdout)["install"]:
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
        component: dict[str, object] = {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name.lower().replace('_', '-')}@{version}",
        }
        if "sha256" in hashes:
            component["hashes"] = [{"alg": "SHA-256", "content": hashes["sha256"]}]
        components.append(component)
    components.sort(key=lambda one: str(one["name"]).lower())
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}
    json.dump(document, sys.stdout, indent=1)


main(*sys.argv[1:])
