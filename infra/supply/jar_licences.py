"""The licences that a jar says itself, in its pom or its manifest."""

import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

# https://maven.apache.org/pom.html#Licenses
_POM = re.compile(r"META-INF/maven/[^/]+/([^/]+)/pom\.xml")
_NAME = "{http://maven.apache.org/POM/4.0.0}license/{http://maven.apache.org/POM/4.0.0}name"
# https://docs.osgi.org/specification/osgi.core/7.0.0/framework.module.html
_BUNDLE = re.compile(r"^Bundle-License: *(.+(?:\r?\n .+)*)", re.MULTILINE)
_MANIFEST = "META-INF/MANIFEST.MF"


def licences_in(jar: Path, module: str) -> tuple[str, ...]:
    """The names of a jar's licences; empty where it says none.

    Args:
        jar: The file.
        module: Its module: a jar may hold the poms of others too.
    """
    with zipfile.ZipFile(jar) as opened:
        names = opened.namelist()
        for name in names:
            found = _POM.fullmatch(name)
            if found and found[1] == module and (said := _of_pom(opened.read(name))):
                return said
        manifest = opened.read(_MANIFEST).decode() if _MANIFEST in names else ""
    bundle = _BUNDLE.search(manifest)
    return (re.sub(r"\r?\n ", "", bundle[1]).strip(),) if bundle else ()


def _of_pom(text: bytes) -> tuple[str, ...]:
    # The jar is one of those whose digests are pinned.
    root = ET.fromstring(text)  # noqa: S314
    said = (name.text for each in root.iter() for name in each.findall(_NAME))
    return tuple(text.strip() for text in said if text)
