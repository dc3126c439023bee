"""The limit program over the files of the product's tables."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from lakehouse.config import Settings
from lakehouse.spark.control.ledger import Ledger
from tests.bench.cpu import Cost


def data_files(settings: Settings, table: str, where: str = "") -> list[str]:
    """The data files of `main`, of those that may have such rows."""
    loaded = Ledger(settings).catalog.load_table(table)
    scan = loaded.scan(row_filter=where) if where else loaded.scan()
    return [urlsplit(task.file.file_path).path for task in scan.plan_files()]


def limit(
    folder: Path, messages: list[str], silver: list[str], key: tuple[str, ...] = ("aid",)
) -> Cost:
    """The limit program's second round, in a process of its own."""
    asked = {"messages": messages, "silver": silver, "key": key, "out": str(folder), "rounds": 2}
    cost, found = told_by("tests.bench.limit", asked)
    assert found["new"] > 0, found
    return cost


def told_by(module: str, asked: Mapping[str, object]) -> tuple[Cost, dict[str, int]]:
    """What a program in a process of its own says that it took, and what it found."""
    command = [sys.executable, "-m", module]
    # A thousand files are too long for an argument.
    ended = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = json.loads(ended.stdout)
    return Cost(float(found["cpu"]), float(found["wall"])), found
