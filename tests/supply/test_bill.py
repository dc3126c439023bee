"""The bill of materials has all that is installed, and nothing but that."""

from __future__ import annotations

import json
import re
from importlib.metadata import distributions

import pytest

from infra.setup.layout import REQUIREMENTS
from infra.setup.lock import locked_jars
from infra.supply.bill import BILL, Component, licences_of, write_bill


def plain(name: str) -> str:
    """A package's name as https://peps.python.org/pep-0503/ spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def bill() -> list[Component]:
    return write_bill()


def test_it_has_every_package_and_every_jar_with_its_version(bill: list[Component]) -> None:
    named = {plain(each.metadata["Name"]) for each in distributions()}
    packages = {plain(each["name"]) for each in bill if each["purl"].startswith("pkg:pypi/")}
    assert packages == named - {"lakehouse"}
    jars = {jar for some in locked_jars().values() for jar in some}
    in_bill = {each["purl"]: each for each in bill if each["purl"].startswith("pkg:maven/")}
    assert len(in_bill) == len(jars)
    for jar in jars:
        found = in_bill[f"pkg:maven/{jar.organisation}/{jar.module}@{jar.revision}"]
        assert found["hashes"] == [{"alg": "SHA-256", "content": jar.sha256}]


def test_it_is_written_as_cyclonedx(bill: list[Component]) -> None:
    written = json.loads(BILL.read_text(encoding="utf-8"))
    assert written["bomFormat"] == "CycloneDX"
    assert written["components"] == bill
    assert len({each["bom-ref"] for each in bill}) == len(bill)


def test_every_package_is_locked_with_a_digest(bill: list[Component]) -> None:
    locked = re.findall(r"^([\w.-]+)==([^ ;\\]+)", REQUIREMENTS.read_text(), re.MULTILINE)
    pinned = {(plain(name), version) for name, version in locked}
    packages = [each for each in bill if each["purl"].startswith("pkg:pypi/")]
    installed = {(plain(each["name"]), each["version"]) for each in packages}
    assert installed <= pinned


def test_licences_are_as_the_packages_say_them(bill: list[Component]) -> None:
    said = {each["name"]: licences_of(each) for each in bill}
    assert said["pyspark"] == "Apache-2.0"
    assert said["mariadb-java-client"] == "LGPL-2.1-or-later"
    assert "apache" in said["snappy-java"].lower()
