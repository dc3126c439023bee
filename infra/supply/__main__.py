"""`make sbom`, `make licences` and `make audit`."""

import sys
from collections.abc import Callable
from itertools import groupby

from infra.setup.errors import SetupError
from infra.supply.audit import audit
from infra.supply.bill import BILL, licences_of, write_bill


def main(arguments: list[str]) -> int:
    """Do one of them; returns the exit code."""
    try:
        return _ACTS[arguments[0]]()
    except SetupError as error:
        print(f"[supply] failed: {error}", file=sys.stderr)
        return 2


def _sbom() -> int:
    components = write_bill()
    jars = sum(each["purl"].startswith("pkg:maven/") for each in components)
    print(f"{BILL}: {len(components) - jars} Python packages, {jars} jars")
    return 0


def _licences() -> int:
    found = sorted((licences_of(each), each["name"], each["version"]) for each in write_bill())
    for licence, some in groupby(found, key=lambda each: each[0]):
        packages = [f"{name} {version}" for _, name, version in some]
        print(f"{licence} ({len(packages)}): {', '.join(packages)}")
    return 0


def _audit() -> int:
    found = audit()
    print("\n".join(found.lines))
    return 1 if found.weak or found.unknown else 0


_ACTS: dict[str, Callable[[], int]] = {"sbom": _sbom, "licences": _licences, "audit": _audit}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
