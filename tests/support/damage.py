"""Tables that somebody else broke: files removed, cut off and flipped, found, and mended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.inspection.repairing import repair
from lakehouse.inspection.tables import read_all
from lakehouse.plan.doctor.findings import Finding
from lakehouse.plan.doctor.tables import judge_tables
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.steps.runner import execute
from tests.support.campaign import Campaign, begin


def local(location: str) -> Path:
    return Path(urlsplit(location).path)


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def flip(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:4] + b"\xff" * 40 + file.read_bytes()[44:])


def empty(file: Path) -> None:
    """As a power cut leaves a file whose blocks were not on the disk yet."""
    file.write_bytes(b"")


def damaged(spark: SparkSession, settings: Settings, folder: Path, name: str) -> Campaign:
    """A source of which three cuts are published."""
    campaign = begin(spark, settings, folder, name)
    for _ in range(2):
        campaign.bank.transfer(2)
        campaign.runs.run(campaign.bank.source)
    return campaign


def data_file(campaign: Campaign, table: str, number: int) -> Path:
    """One of the files of `main`, in the order of their commits."""
    scan = campaign.runs.ledger.catalog.load_table(table).scan()
    files = [local(task.file.file_path) for task in scan.plan_files()]
    return sorted(files, key=lambda file: file.stat().st_mtime)[number]


def oldest_rows(campaign: Campaign, table: str) -> Path:
    return data_file(campaign, table, 0)


def newest_rows(campaign: Campaign, table: str) -> Path:
    return data_file(campaign, table, -1)


def deletion_vector(campaign: Campaign, table: str) -> Path:
    scan = campaign.runs.ledger.catalog.load_table(table).scan()
    return next(local(d.file_path) for task in scan.plan_files() for d in task.delete_files)


def list_of_files(campaign: Campaign, table: str) -> Path:
    opened = campaign.runs.ledger.catalog.load_table(table)
    snapshot = opened.current_snapshot()
    assert snapshot is not None
    return local(snapshot.manifests(opened.io)[0].manifest_path)


def found(campaign: Campaign) -> list[Finding]:
    source = campaign.runs.source
    return list(judge_tables(read_all(source, campaign.runs.ledger), source.name))


def mend(campaign: Campaign) -> tuple[list[str], tuple[str, ...]]:
    """As the command does, whose rebuild is an application of its own."""
    runs = campaign.runs
    done, left = repair(runs.source, runs.ledger, "mended")
    if left:
        context = replace(runs.context(run_id="rebuilt"), rebuild=Rebuild(left))
        for step in ("apply", "validate", "publish"):
            outcome = execute(step, context)
            assert outcome.status == "succeeded", outcome.message
    return done, left


def is_mended(campaign: Campaign) -> None:
    """Nothing is found any more, and the next run ends like the source."""
    assert found(campaign) == []
    campaign.bank.transfer(1)
    campaign.finish(readable=False)
