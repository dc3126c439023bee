"""How Spark is started for what a run has to do: interpreted plans, and Java's compilers.

To generate and compile code for a query over few rows takes twice the CPU of the work itself. An
application that lives for many batches uses what is generated again: few are fewer there. Nor does
a short run get back what Java's second compiler takes, a third of its CPU; of a million messages
that one saves two fifths of the time (measured, docs/sizing.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

FEW_ROWS = 200_000
"""Of an application that does one run. Of so many rows a query is planned once in any."""

FEW_ROWS_SETTING = "spark.lakehouse.fewRows"
"""What says otherwise, among Spark's settings."""

ONE_COMPILER = "-XX:TieredStopAtLevel=1"
"""Java's option that leaves the second compiler out."""

JAVA_OPTIONS = "SPARK_SUBMIT_OPTS"
"""The variable by which `spark-submit` gives a driver's Java an option of one application alone."""

PARSING = ("land", "check", "apply")
"""The steps that read messages."""

LANDINGS = 2
"""Of so many landings before it a run is taken to be like one."""

# Where both take as long (measured: 50,000 messages take 3 % longer with it, 200,000 15 % less).
_MANY_MESSAGES = 100_000
# Without their schemas, in an archive, and compressed.
_OCTETS, _COMPRESSED_OCTETS = 600, 60


def expected_messages(landed: Iterable[str]) -> int | None:
    """How many messages a run has to parse, as far as those before it tell.

    Args:
        landed: What the last `LANDINGS` that succeeded counted: `RunRow.counts`.

    Returns:
        The most of them: what a run has landed that failed behind it, the next one parses. None
        where none has landed: the first one may find years of them.
    """
    return max((int(json.loads(counts)["messages"]) for counts in landed), default=None)


def archived_messages(files: Mapping[Path, int]) -> int:
    """About how many messages an archive has.

    Args:
        files: Its files and their sizes in octets.
    """
    return sum(
        size // (_COMPRESSED_OCTETS if path.suffix == ".gz" else _OCTETS)
        for path, size in files.items()
    )


def with_both_compilers(environment: Mapping[str, str], messages: int | None) -> dict[str, str]:
    """The variable that lets Java use both compilers, where they pay; nothing where they do not.

    Args:
        environment: What `spark-submit` would find else.
        messages: How many the application parses; None for not known.
    """
    given = environment.get(JAVA_OPTIONS, "")
    if ONE_COMPILER not in given or (messages is not None and messages < _MANY_MESSAGES):
        return {}
    return {JAVA_OPTIONS: " ".join(given.replace(ONE_COMPILER, "").split())}
