"""Spark as this project installs it: Java, jars and small-machine settings, for every launcher.

`spark-submit` and PySpark read `SPARK_CONF_DIR/spark-defaults.conf`; a cluster's operators point
`SPARK_CONF_DIR` at their own folder and nothing else changes.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from infra.setup.classes import archive_file, class_path
from infra.setup.layout import java_home
from lakehouse.config.home import make_private
from lakehouse.plan.tuning import FEW_ROWS_SETTING, JAVA_OPTIONS, ONE_COMPILER

# Ten times what Java takes before the second compiler, where it has that, compiles what is called
# much: to plan a query is a great deal of code, each part of which would be compiled a second time
# for a few calls. It saves a sixth of the CPU of a session's first batches, small ones and such of
# 200,000 changes, and less later (measured). And what is generated for a table of 60 columns has
# methods that Java would leave interpreted, as too long: to validate 200,000 changes takes a third
# less CPU without that limit.
_COMPILERS = (
    "-XX:-DontCompileHugeMethods "
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=200000"
)
# A driver that lives long generates the code of so small a batch once, for all that come (measured:
# a quarter less CPU in check, a tenth in apply, once it is compiled).
_FEW_ROWS_OF_MANY_BATCHES = "8000"
# Nor would collections while the classes are loaded, nor whole ones each time that the heap grows
# (four in a session's first three runs, 0.6 s of some 20 in all, measured). A long session fills
# the 48 MB that are the first compiler's alone; it then stops compiling for good.
_JAVA = (
    "-XX:+UseSerialGC -XX:MetaspaceSize=256m -Xmn400m -XX:OldSize=500m "
    "-XX:ReservedCodeCacheSize=192m"
)
_DEFAULTS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1500m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.scheduler.mode": "FAIR",
}


def spark_environment(home: Path, *, long_lived: bool = False) -> dict[str, str]:
    """The variables that a process needs to start Spark; writes the defaults below `home`.

    Args:
        home: `LAKEHOUSE_HOME`.
        long_lived: Whether what starts works for longer than some minutes. Else Java has its first
            compiler alone, where nobody asks for both (`plan.tuning`).
    """
    binaries = Path(sys.executable).parent
    given = os.environ.get("SPARK_CONF_DIR")
    folder = Path(given) if given else _write_defaults(home, long_lived=long_lived)
    return {
        **({} if given else {JAVA_OPTIONS: _java_options(both_compilers=long_lived)}),
        "JAVA_HOME": str(java_home()),
        "SPARK_CONF_DIR": str(folder),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PATH": os.pathsep.join((str(binaries), os.environ.get("PATH", ""))),
    }


def _java_options(*, both_compilers: bool) -> str:
    given = os.environ.get(JAVA_OPTIONS, "").split()
    others = (option for option in given if option != ONE_COMPILER)
    return " ".join(others if both_compilers else (*others, ONE_COMPILER))


def _write_defaults(home: Path, *, long_lived: bool) -> Path:
    make_private(home.absolute())
    folder = home.absolute() / "spark"
    folder.mkdir(parents=True, exist_ok=True)
    jar_files = class_path(Path(sysconfig.get_path("purelib")))
    archive = archive_file(Path(sys.prefix), java_home(), jar_files)
    options = f"{_JAVA} {_COMPILERS}"
    values = {
        **_DEFAULTS,
        # Before Spark's own class path, which has this folder in it: an archive fits a class path
        # that begins as its own does, and has no folders.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jar_files)),
        "spark.local.dir": str(folder / "tmp"),
        # Of Spark's own catalog, which has no table; else it makes a folder where it is started.
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
    }
    if long_lived:
        values[FEW_ROWS_SETTING] = _FEW_ROWS_OF_MANY_BATCHES
    if archive.is_file() and archive.stat().st_size:
        # What does not fit is left unused without a word.
        options += f" -XX:SharedArchiveFile={archive} -Xlog:cds=off"
    values["spark.driver.extraJavaOptions"] = options
    text = "".join(f"{key} {value}\n" for key, value in sorted(values.items()))
    temporary = folder / f"spark-defaults.{os.getpid()}"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(folder / "spark-defaults.conf")
    return folder
