"""What a person is told of a store or a catalog that failed a step; the texts are real ones."""

from __future__ import annotations

import pytest

from lakehouse.errors import first_line
from lakehouse.plan.store_faults import store_fault

LOST = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 183.0 "
    "failed 1 times, most recent failure: Lost task 0.0 in stage 183.0 (TID 314) (192.0.2.2 "
    "executor driver): org.apache.iceberg.exceptions."
)
CALL = "An error occurred while calling o7003.localCheckpoint.\n: "
DATA = "file:/home/w/silver_s/public__giro/data/00000-0.parquet"
LIST = "file:/home/w/silver_s/public__giro/metadata/snap-28-1-ef.avro"


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (f"{CALL}{LOST}RuntimeIOException: Failed to fetch file: {DATA}\n\tat org", DATA),
        (
            f"{CALL}{LOST}NotFoundException: Failed to open input stream for file: {DATA}\n\tat o",
            DATA,
        ),
        (
            f"{CALL}org.apache.iceberg.exceptions.RuntimeIOException: Failed to open file: {LIST}",
            LIST,
        ),
        (f"{CALL}org.apache.hadoop.fs.ChecksumException: Checksum error: {DATA} at 0 exp: 1", DATA),
        (f"java.lang.RuntimeException: {DATA} is not a Parquet file. Expected magic", DATA),
        (f"java.io.FileNotFoundException: File {DATA} does not exist", DATA),
        (
            "[Errno 2] Failed to open local file '/w/a.parquet'. Detail: [errno 2] No such file",
            "/w/a.parquet",
        ),
    ],
)
def test_a_file_that_is_gone_or_torn_is_named(text: str, file: str) -> None:
    assert store_fault(RuntimeError(text), "s") == (
        f"file {file} is not there, or not as it was written: expected every file of "
        "its tables to be whole; `lakehouse doctor --source s` names those that are gone or cut "
        "off, and `--repair` mends that; where it finds nothing, `lakehouse rebuild --source s` "
        "makes silver again from bronze; what was only staged the next run stages again"
    )


def test_flipped_bytes_are_told_where_java_names_no_file() -> None:
    text = (
        f"{CALL}{LOST}RuntimeIOException: java.io.IOException: can not read class org.apache."
        "iceberg.shaded.org.apache.parquet.format.PageHeader: don't know what type: 15"
    )
    told = store_fault(RuntimeError(text), "s")
    assert told is not None
    assert "`lakehouse rebuild --source s` makes silver again from bronze" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[Errno 28] No space left on device", "the disk is full"),
        ("(sqlite3.OperationalError) database or disk is full", "the disk is full"),
        (
            f"{CALL}java.io.IOException: No space left on device\nFailed to open file: {DATA}",
            "the disk is full",
        ),
        ("(sqlite3.OperationalError) database is locked", "was locked for more than 30 s"),
        (f"{CALL}[SQLITE_BUSY] The database file is locked", "was locked for more than 30 s"),
    ],
)
def test_a_full_disk_and_a_locked_catalog_are_told_with_what_to_do(text: str, told: str) -> None:
    sentence = store_fault(RuntimeError(text), "s")
    assert sentence is not None
    assert told in sentence
    assert "then run again: the next run does the work" in sentence


def test_a_clock_that_is_behind_is_told() -> None:
    text = f"{CALL}java.lang.IllegalArgumentException: Invalid update timestamp 1: before last s"
    told = store_fault(RuntimeError(text), "s")
    assert told is not None
    assert "this machine's clock is behind what wrote the tables: expected a clock" in told


@pytest.mark.parametrize("text", ["", "division by zero", f"Failed to create file: {DATA}"])
def test_any_other_error_is_left_as_it_is(text: str) -> None:
    assert store_fault(RuntimeError(text), "s") is None


def test_the_first_line_of_an_error_of_java_is_what_java_says() -> None:
    error = RuntimeError(f"{CALL}java.lang.IllegalStateException: no such thing\n\tat org.x")
    assert first_line(error) == "RuntimeError: java.lang.IllegalStateException: no such thing"
    assert first_line(RuntimeError("one\ntwo")) == "RuntimeError: one"
    assert first_line(RuntimeError()) == "RuntimeError: no message"
