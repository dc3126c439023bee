"""The class archive: a Spark driver maps it, else every start takes twice the time in silence."""

from __future__ import annotations

from pathlib import Path


def test_the_driver_maps_the_class_archive(spark):
    asked = spark.sql("SELECT java_method('java.lang.ProcessHandle', 'current') AS process")
    process = asked.first()["process"]
    mapped = Path(f"/proc/{process}/maps").read_text()
    options = spark.conf.get("spark.driver.extraJavaOptions")
    [archive] = [o for o in options.split() if o.startswith("-XX:SharedArchiveFile=")]
    assert archive.partition("=")[2] in mapped
