"""Makes the class archive: Spark's classes as the JVM maps them, parsed and verified once.

Each command and each task of a Dag starts a JVM. With the archive a start takes half the CPU time
(https://docs.oracle.com/en/java/javase/21/vm/class-data-sharing.html). Without one, or with one
that another Java made, the JVM loads its classes as ever.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from infra.setup.command import output, say
from infra.setup.environment import ENVIRONMENT, site_packages
from infra.setup.errors import SetupError
from infra.setup.layout import REPOSITORY, jars, java_home

_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
TRAINING = REPOSITORY / "infra" / "spark_training.py"


def class_path(packages: Path) -> tuple[Path, ...]:
    """The jars of a Spark driver, in the order that the archive is made for.

    Args:
        packages: The folder with the Python package `pyspark`.
    """
    return (*jars("spark"), *sorted((packages / "pyspark" / "jars").glob("*.jar")))


def archive_file(environment: Path, home: Path, jar_files: Iterable[Path]) -> Path:
    """Where the archive for a Java and a class path is; it may not exist, or be empty.

    Args:
        environment: The folder of the Python environment, which it belongs to.
        home: The home of Java.
        jar_files: The class path.
    """
    release = home / "release"
    told = release.read_text(encoding="utf-8") if release.is_file() else ""
    parts = (str(home), told, *map(str, jar_files))
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return environment / "classes" / f"spark-{digest}.jsa"


def install_class_archive() -> None:
    """Makes the archive, unless it is there. A failure costs time later, no more than that."""
    home = java_home()
    jar_files = class_path(site_packages())
    target = archive_file(ENVIRONMENT, home, jar_files)
    if target.exists():
        return
    say("class archive: starting Spark once, so that later starts take half the time")
    shutil.rmtree(target.parent, ignore_errors=True)
    target.parent.mkdir()
    try:
        _make(home, jar_files, target)
    except (OSError, SetupError) as error:
        say(f"class archive: none, Spark starts slower without it ({error})")
        target.touch()


def _make(home: Path, jar_files: Iterable[Path], target: Path) -> None:
    java = home / "bin" / "java"
    if not (home / "lib" / "server" / "classes.jsa").exists():
        # The archive of Java's own classes, which this one is put on top of.
        output([java, "-Xshare:dump"], "name another Java in JAVA_HOME")
    unfinished = target.with_suffix(".unfinished")
    python = str(ENVIRONMENT / "bin" / "python")
    environment = {**os.environ, "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    with tempfile.TemporaryDirectory() as folder:
        command = _driver_command(
            java,
            jar_files,
            ["--conf", f"spark.local.dir={folder}", "--conf", "spark.log.level=WARN"],
            folder,
        )
        made_at_exit = [f"-XX:ArchiveClassesAtExit={unfinished}", "-Xlog:cds=off"]
        output([command[0], *made_at_exit, *command[1:]], "read the last lines", environment)
    unfinished.rename(target)


def _driver_command(
    java: Path, jar_files: Iterable[Path], options: list[str], folder: str
) -> list[str]:
    """How Spark's launcher starts a driver, with the class path of the jars alone."""
    path = os.pathsep.join(map(str, jar_files))
    application = [*options, str(TRAINING), folder]
    known = {
        "SPARK_HOME": str(site_packages() / "pyspark"),
        "SPARK_SCALA_VERSION": "2.13",
        "JAVA_HOME": str(java.parents[1]),
    }
    launcher: list[str | Path] = [
        java,
        "-cp",
        path,
        "org.apache.spark.launcher.Main",
        _SUBMIT,
        *application,
    ]
    printed = output(launcher, "read the last lines", {**os.environ, **known})
    # Each argument ends in a zero; an empty line comes first.
    command = printed.strip("\0\n").split("\0")
    command[command.index("-cp") + 1] = path
    return command
