"""Known weaknesses of the locked packages, as the Python Packaging Advisory Database has them."""

import json
import os
import subprocess
from dataclasses import dataclass

from infra.setup.errors import SetupError
from infra.setup.layout import REQUIREMENTS
from infra.supply.tools import tool

_UNREACHED = (
    "the index that was asked has no advisories: expected the JSON interface of "
    "https://pypi.org, which mirrors often lack; ask from a machine that reaches it"
)


@dataclass(frozen=True, slots=True)
class Audit:
    """What is known of the locked packages.

    Attributes:
        count: How many were asked about.
        weak: Package and version → the names of its weaknesses, and what mends them.
        unknown: Packages that nobody could say anything of.
    """

    count: int
    weak: dict[str, str]
    unknown: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """What a person is told."""
        told = [f"{package}: {known}" for package, known in self.weak.items()]
        asked = self.count - len(self.unknown)
        told.append(f"{asked} of {self.count} packages looked up, {len(self.weak)} have weaknesses")
        if self.unknown:
            told.append(f"{len(self.unknown)} could not be looked up: {_UNREACHED}")
        return told


def audit() -> Audit:
    """Ask for the weaknesses of all packages of `requirements.lock`.

    Raises:
        SetupError: Nothing could be asked.
    """
    options = ["--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run(
        [tool("pip-audit"), "--requirement", REQUIREMENTS, *options],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return read_audit(done.stdout)
    except (ValueError, KeyError) as broken:
        told = f"pip-audit ended with {done.returncode}: {done.stderr[-800:]}"
        raise SetupError(told) from broken


def read_audit(text: str) -> Audit:
    """What pip-audit has printed as JSON.

    Raises:
        ValueError, KeyError: It is no such text.
    """
    found = json.loads(text)["dependencies"]
    named = {f"{each['name']} {each.get('version')}": each for each in found}
    weak = {name: _known(each) for name, each in named.items() if each.get("vulns")}
    unknown = tuple(each["name"] for each in found if "skip_reason" in each)
    return Audit(len(found), weak, unknown)


def _known(package: dict[str, list[dict[str, object]]]) -> str:
    return "; ".join(
        f"{each['id']}, mended in {', '.join(map(str, fixes)) if fixes else 'no version'}"
        for each in package["vulns"]
        if isinstance(fixes := each["fix_versions"], list)
    )
