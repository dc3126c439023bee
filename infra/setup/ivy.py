"""Downloads pinned jars with the Ivy that pyspark ships; Maven need not be there.

Ivy gets a list of coordinates without their dependencies and its default repository. Its own
checksums and the descriptions of the modules are not asked for: `jars.lock` has a sha256 for each
file. Several run at once, because Ivy loads one file after the other.
"""

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from infra.setup.command import say
from infra.setup.errors import SetupError
from infra.setup.lock import Jar

PROCESSES = 3
ATTEMPTS = 3
STALLED_AFTER_S = 180
_REPORT_EVERY_S = 5.0

_FAILURE = re.compile("error|exception|^ *host ", re.IGNORECASE)

_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="default"/>
  <caches defaultCacheDir={folder}/>
  <resolvers>
    <ibiblio name="default"{root} m2compatible="true" usepoms="false" useMavenMetadata="false"
             checksums=""/>
  </resolvers>
</ivysettings>
"""
_MODULE = """\
<ivy-module version="2.0">
  <info organisation="lakehouse" module="{name}"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
    <conflict manager="all"/>
  </dependencies>
</ivy-module>
"""


@dataclass(frozen=True, slots=True)
class Ivy:
    """How Ivy is started, and the folder that it downloads into."""

    command: tuple[str, ...]
    folder: Path

    def downloaded(self, jar: Jar) -> Path:
        """Where Ivy puts the file of one jar."""
        return self.folder / jar.organisation / jar.module / "jars" / jar.file_name


def download(ivy: Ivy, wanted: Sequence[Jar]) -> None:
    """Downloads jars; what an interrupted download left is used.

    Raises:
        SetupError: a jar is still missing after a few attempts.
    """
    ivy.folder.mkdir(parents=True, exist_ok=True)
    settings = ivy.folder / "settings.xml"
    settings.write_text(settings_xml(ivy.folder, os.environ), encoding="utf-8")
    for attempt in range(1, ATTEMPTS + 1):
        missing = [jar for jar in wanted if not ivy.downloaded(jar).exists()]
        if not missing:
            return
        say(f"jars: downloading {len(missing)} of {len(wanted)}, attempt {attempt}")
        _run_all(ivy, settings, missing)
    missing = [jar for jar in wanted if not ivy.downloaded(jar).exists()]
    if missing:
        raise SetupError(_missing_message(ivy, missing))


def settings_xml(folder: Path, environment: Mapping[str, str]) -> str:
    """Ivy's settings: its default repository, or the mirror in `LAKEHOUSE_MAVEN_MIRROR`."""
    mirror = environment.get("LAKEHOUSE_MAVEN_MIRROR")
    root = f" root={quoteattr(mirror)}" if mirror else ""
    return _SETTINGS.format(folder=quoteattr(str(folder)), root=root)


def module_xml(name: str, jars: Sequence[Jar]) -> str:
    """Ivy's list of what one process downloads."""
    dependencies = (
        f"    <dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.module)} "
        f'rev={quoteattr(jar.revision)} conf="default->*" transitive="false"/>'
        for jar in jars
    )
    return _MODULE.format(name=name, dependencies="\n".join(dependencies))


def _run_all(ivy: Ivy, settings: Path, jars: Sequence[Jar]) -> None:
    shares = [jars[number::PROCESSES] for number in range(PROCESSES)]
    running = [
        _start(ivy, settings, f"part-{number}", share)
        for number, share in enumerate(shares)
        if share
    ]
    try:
        _wait(ivy, running, len(jars))
    finally:
        for process in running:
            process.kill()
            process.wait()


def _start(ivy: Ivy, settings: Path, name: str, jars: Sequence[Jar]) -> "subprocess.Popen[bytes]":
    module = ivy.folder / f"{name}.xml"
    module.write_text(module_xml(name, jars), encoding="utf-8")
    with _log(ivy, name).open("wb") as log:
        return subprocess.Popen(
            [*ivy.command, "-settings", settings, "-ivy", module],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _wait(ivy: Ivy, running: Sequence["subprocess.Popen[bytes]"], count: int) -> None:
    """Waits for all processes and shows how far they are; gives up when nothing arrives."""
    before, grown_at, reported_at = -1, time.monotonic(), 0.0
    while any(process.poll() is None for process in running):
        files = [path for path in ivy.folder.rglob("*.jar*") if path.is_file()]
        size = sum(_size(path) for path in files)
        now = time.monotonic()
        if size != before:
            before, grown_at = size, now
        if now - grown_at > STALLED_AFTER_S:
            say(f"jars: nothing arrived for {STALLED_AFTER_S} s, giving up this attempt")
            return
        if now - reported_at > _REPORT_EVERY_S:
            reported_at = now
            done = sum(path.suffix == ".jar" for path in files)
            say(f"jars: {done} files of {count}, {size / 1e6:.0f} MB")
        time.sleep(0.2)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # renamed since it was listed
        return 0


def _log(ivy: Ivy, name: str) -> Path:
    return ivy.folder / f"{name}.log"


def _missing_message(ivy: Ivy, missing: Sequence[Jar]) -> str:
    logs = (_log(ivy, f"part-{number}") for number in range(PROCESSES))
    lines = [
        line.strip()[:300]
        for log in logs
        if log.exists()
        for line in log.read_text(errors="replace").splitlines()
        if _FAILURE.search(line)
    ]
    names = ", ".join(jar.coordinate for jar in missing[:3])
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    return (
        f"{len(missing)} jars could not be downloaded ({names}{more}): check the network (a proxy "
        "is set with HTTPS_PROXY, a mirror of Maven Central with LAKEHOUSE_MAVEN_MIRROR), and try "
        f"again: what was downloaded is kept. Ivy's output is in {ivy.folder}/part-*.log\n"
        + "\n".join(lines[:5])
    )
