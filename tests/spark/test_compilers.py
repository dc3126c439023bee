"""What Java of a driver was started with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.cli._submitting import in_foreground
from lakehouse.config import Settings
from lakehouse.plan.tuning import ONE_COMPILER

_TELLS = """
import json, os
from pyspark.sql import SparkSession
gateway = SparkSession.builder.getOrCreate().sparkContext._jvm
beans = gateway.java.lang.management.ManagementFactory
with open(os.environ["TOLD"], "w") as told:
    json.dump(list(beans.getRuntimeMXBean().getInputArguments()), told)
"""


def test_a_short_session_has_the_first_compiler_alone(spark: SparkSession) -> None:
    gateway = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to it
    beans = gateway.java.lang.management.ManagementFactory
    assert ONE_COMPILER in list(beans.getRuntimeMXBean().getInputArguments())


def test_an_application_that_may_parse_many_messages_has_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)
    script, told = tmp_path / "tells.py", tmp_path / "told.json"
    script.write_text(_TELLS, encoding="utf-8")
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path / "home")})

    assert in_foreground(script, (), settings, {"TOLD": str(told)}, messages=None) == 0

    arguments = json.loads(told.read_text(encoding="utf-8"))
    assert ONE_COMPILER not in arguments
    assert "-XX:-DontCompileHugeMethods" in arguments
