"""Write a topic archive: messages as lines that landing reads back byte for byte.

In: messages of all topics at one moment. Out: one `<topic>.jsonl.gz` for each topic, sorted by
topic partition and offset. Files appear in the folder when all are written, the transaction
topic's last.
"""

from __future__ import annotations

import gzip
import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.errors import ArchiveError
from lakehouse.plan.topics.archive_line import TIMESTAMP_TYPES

_ENDING = ".jsonl.gz"


def write_archive(messages: DataFrame, topics: Sequence[str], folder: Path) -> dict[str, int]:
    """Write the archive.

    Args:
        messages: With the columns of an archive's messages; only of these topics.
        topics: In the order in which their files appear; one without messages gets an empty file.
        folder: A new or an empty folder on this machine.

    Returns:
        The size of each topic's file in bytes.

    Raises:
        ArchiveError: If the folder holds something.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ArchiveError(
            f"Folder {str(folder)!r}: is not empty: expected a new or an empty one, so that an "
            "archive is never mixed with another"
        )
    unfinished = folder / f".unfinished-{uuid.uuid4().hex}"
    try:
        _write_lines(messages, unfinished)
        for topic in topics:
            parts = sorted((unfinished / f"topic={topic}").glob("part-*.gz"))
            _join(parts, unfinished / f"{topic}{_ENDING}")
        for topic in topics:
            (unfinished / f"{topic}{_ENDING}").rename(folder / f"{topic}{_ENDING}")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return {topic: (folder / f"{topic}{_ENDING}").stat().st_size for topic in topics}


def _write_lines(messages: DataFrame, folder: Path) -> None:
    lines = (
        messages.repartition("topic")
        .sortWithinPartitions("topic", "partition", "offset")
        .select("topic", archive_line().alias("line"))
    )
    writer = lines.write.partitionBy("topic").option("compression", "gzip")
    writer.option("lineSep", "\n").text(folder.absolute().as_uri())


def _join(parts: Sequence[Path], target: Path) -> None:
    """One gzip file of several: members may follow each other (RFC 1952, section 2.2)."""
    with target.open("wb") as joined:
        for part in parts:
            with part.open("rb") as single:
                shutil.copyfileobj(single, joined)
        if not parts:
            joined.write(gzip.compress(b"", mtime=0))


def archive_line() -> Column:
    """The line of a message as text."""
    members = [
        _member("topic", _text(F.col("topic"))),
        _member("partition", F.col("partition").cast("string")),
        _member("offset", F.col("offset").cast("string")),
        _member("timestamp", F.unix_millis("timestamp").cast("string")),
        _timestamp_type(),
        _bytes("key"),
        _bytes("value"),
        _headers(),
    ]
    return F.concat(F.lit("{"), F.concat_ws(",", *members), F.lit("}"))


def _member(name: str, json: Column) -> Column:
    return F.concat(F.lit(f'"{name}":'), json)


def _timestamp_type() -> Column:
    """The type by name; messages mostly have the default, which is left out."""
    names = {code: name for name, code in TIMESTAMP_TYPES.items() if name != "CreateTime"}
    pairs = [F.lit(text) for pair in names.items() for text in pair]
    name = F.create_map(*pairs)[F.col("timestamp_type")]
    return _member("timestamp_type", F.concat(F.lit('"'), name, F.lit('"')))


def _bytes(name: str) -> Column:
    content, text = F.col(name), F.col(name).cast("string")
    return (
        F.when(content.isNull(), F.lit(f'"{name}":null'))
        .when(F.is_valid_utf8(text), _member(name, _text(text)))
        .otherwise(F.concat(F.lit(f'"{name}":null,"{name}_b64":"'), _base64(content), F.lit('"')))
    )


def _headers() -> Column:
    def is_text(header: Column) -> Column:
        return header["value"].isNull() | F.is_valid_utf8(header["value"].cast("string"))

    plain = _pairs(lambda value: _text(value.cast("string")))
    encoded = _pairs(lambda value: F.concat(F.lit('"'), _base64(value), F.lit('"')))
    return F.when(F.forall("headers", is_text), _member("headers", plain)).otherwise(
        F.concat(F.lit('"headers":[],"headers_b64":'), encoded)
    )


def _pairs(json: Callable[[Column], Column]) -> Column:
    pairs = F.transform(
        "headers",
        lambda header: F.concat(
            F.lit("["),
            _text(header["key"]),
            F.lit(","),
            F.coalesce(json(header["value"]), F.lit("null")),
            F.lit("]"),
        ),
    )
    return F.concat(F.lit("["), F.array_join(pairs, ","), F.lit("]"))


def _text(text: Column) -> Column:
    """JSON text: what `to_json` writes for it inside `{"v":…}`; NULL stays NULL."""
    wrapped = F.to_json(F.struct(text.alias("v")))
    return F.when(text.isNotNull(), F.substring(wrapped, F.lit(6), F.length(wrapped) - 6))


def _base64(content: Column) -> Column:
    """Base64 in one line; Spark breaks it after 76 characters."""
    return F.replace(F.base64(content), F.lit("\r\n"), F.lit(""))
