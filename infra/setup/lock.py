"""The pinned jars: reads `jars.lock`, gives the jars of each set.

A line of the lock file is `set  organisation:module:revision  sha256`; `#` starts a comment.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infra.setup.errors import SetupError

LOCK_FILE = Path(__file__).with_name("jars.lock")
JAR_SETS = ("spark", "kafka", "postgres", "mysql", "mariadb", "bin")
CONNECTOR_SETS = ("postgres", "mysql", "mariadb")

_COORDINATE = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, order=True)
class Jar:
    """One pinned jar file."""

    organisation: str
    module: str
    revision: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The name of the file inside the folder of its set."""
        return f"{self.module}-{self.revision}.jar"

    @property
    def coordinate(self) -> str:
        """The Maven coordinate `organisation:module:revision`."""
        return f"{self.organisation}:{self.module}:{self.revision}"


def parse_lock(text: str, origin: str = "jars.lock") -> dict[str, tuple[Jar, ...]]:
    """Reads the text of a lock file into the jars of each set, in the order of the file.

    Args:
        text: the content of the file.
        origin: the name of the file, for messages.

    Raises:
        SetupError: a line is not of the form above, or a set is unknown or without jars.
    """
    sets: dict[str, list[Jar]] = {name: [] for name in JAR_SETS}
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        if not _is_lock_line(fields):
            raise SetupError(
                f"{origin}:{number}: {line!r} is not a jar: expected a set "
                f"({', '.join(JAR_SETS)}), organisation:module:revision and a sha256 of "
                "64 hex digits; restore the file with `git checkout`"
            )
        sets[fields[0]].append(_parse_jar(fields[1], fields[2]))
    empty = [name for name, jars in sets.items() if not jars]
    if empty:
        raise SetupError(
            f"{origin} has no jar for {', '.join(empty)}: expected at least one for each of "
            f"{', '.join(JAR_SETS)}; restore the file with `git checkout`"
        )
    return {name: tuple(jars) for name, jars in sets.items()}


def _parse_jar(coordinate: str, sha256: str) -> Jar:
    organisation, module, revision = coordinate.split(":")
    return Jar(organisation, module, revision, sha256)


def _is_lock_line(fields: list[str]) -> bool:
    return (
        len(fields) == 3
        and fields[0] in JAR_SETS
        and _COORDINATE.fullmatch(fields[1]) is not None
        and _SHA256.fullmatch(fields[2]) is not None
    )


@cache
def locked_jars() -> dict[str, tuple[Jar, ...]]:
    """The jars of each set that this version of the project pins."""
    return parse_lock(LOCK_FILE.read_text(encoding="utf-8"), str(LOCK_FILE))


def digest(jars: tuple[Jar, ...]) -> str:
    """A short name for exactly these jars; it changes when any of them does."""
    text = "\n".join(f"{jar.coordinate} {jar.sha256}" for jar in jars)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
