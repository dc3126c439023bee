"""The bill of materials (CycloneDX): each package of `.venv` and each jar that `make setup` brings.

https://cyclonedx.org/docs/1.6/json/
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.setup.command import output
from infra.setup.environment import ENVIRONMENT
from infra.setup.layout import REPOSITORY, jar_folder
from infra.setup.lock import Jar, locked_jars
from infra.supply.jar_licences import licences_in
from infra.supply.tools import tool

BILL = REPOSITORY / "dist" / "sbom.cdx.json"
Component = dict[str, Any]
_UNSAID = "not said"


def write_bill() -> list[Component]:
    """Write the bill; gives its components.

    Raises:
        SetupError: The environment cannot be read.
    """
    bill = json.loads(output(_command(), "run `make setup` and try again", os.environ))
    jars = {jar: name for name, jars in locked_jars().items() for jar in jars}
    bill["components"] += [_component(jar, name) for jar, name in sorted(jars.items())]
    BILL.parent.mkdir(exist_ok=True)
    BILL.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    return list(bill["components"])


def licences_of(component: Component) -> str:
    """The licences of a component in one line, as it says them itself."""
    return " or ".join(_said(component)) or _UNSAID


def _said(component: Component) -> Iterator[str]:
    for each in component.get("licenses", ()):
        licence = each.get("license", {})
        # Some packages have their licence's whole text for its name.
        name = each.get("expression") or licence.get("id") or licence.get("name", "")
        yield from name.strip().splitlines()[:1]


def _command() -> list[str | Path]:
    options = ["--output-format", "JSON", "--output-reproducible", "--pyproject"]
    command: list[str | Path] = [tool("cyclonedx-py"), "environment", *options]
    return [*command, REPOSITORY / "pyproject.toml", ENVIRONMENT]


def _component(jar: Jar, set_name: str) -> Component:
    address = f"pkg:maven/{jar.organisation}/{jar.module}@{jar.revision}"
    said = licences_in(jar_folder(set_name) / jar.file_name, jar.module)
    return {
        "bom-ref": address,
        "type": "library",
        "group": jar.organisation,
        "name": jar.module,
        "version": jar.revision,
        "purl": address,
        "hashes": [{"alg": "SHA-256", "content": jar.sha256}],
        "licenses": [{"license": {"name": name}} for name in said],
    }
