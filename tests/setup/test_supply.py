"""What jars say of their licences, and what is said of packages that nobody knows."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from infra.supply.audit import read_audit
from infra.supply.jar_licences import licences_in

POM = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><licenses>'
    "<license><name> A </name></license><license><name>B</name></license>"
    "</licenses></project>"
)
BARE = '<project xmlns="http://maven.apache.org/POM/4.0.0"/>'
MANIFEST = "Bundle-Name: x\r\nBundle-License: https://www.apache.org/lic\r\n enses/\r\nX: y\r\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"META-INF/maven/g/mine/pom.xml": POM}, ("A", "B")),
        ({"META-INF/maven/g/other/pom.xml": POM}, ()),
        ({"META-INF/MANIFEST.MF": MANIFEST}, ("https://www.apache.org/licenses/",)),
        (
            {"META-INF/maven/g/mine/pom.xml": BARE, "META-INF/MANIFEST.MF": MANIFEST},
            ("https://www.apache.org/licenses/",),
        ),
        ({"a.txt": ""}, ()),
    ],
)
def test_a_jar_says_its_licences_in_its_pom_or_its_manifest(
    tmp_path: Path, files: dict[str, str], said: tuple[str, ...]
) -> None:
    jar = tmp_path / "mine.jar"
    with zipfile.ZipFile(jar, "w") as opened:
        for name, text in files.items():
            opened.writestr(name, text)
    assert licences_in(jar, "mine") == said


def test_packages_without_an_answer_are_not_taken_for_good_ones() -> None:
    weakness = {"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}
    found = read_audit(
        json.dumps(
            {
                "dependencies": [
                    {"name": "good", "version": "1.0", "vulns": []},
                    {"name": "weak", "version": "1.0", "vulns": [weakness]},
                    {"name": "lost", "version": "1.0", "vulns": [{**weakness, "fix_versions": []}]},
                    {"name": "unheard", "skip_reason": "not found"},
                ]
            }
        )
    )
    assert found.lines[:3] == [
        "weak 1.0: PYSEC-1, mended in 1.1, 2.0",
        "lost 1.0: PYSEC-1, mended in no version",
        "3 of 4 packages looked up, 2 have weaknesses",
    ]
    assert found.lines[3].startswith("1 could not be looked up")
