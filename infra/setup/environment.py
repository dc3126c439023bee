"""Makes `.venv`: exactly the packages of `requirements.lock`, and the project itself."""

import hashlib
import os
import sys
from pathlib import Path

from infra.setup.command import run, say, succeeds
from infra.setup.layout import REPOSITORY, REQUIREMENTS
from infra.setup.uv import find_uv, uv_environment

ENVIRONMENT = REPOSITORY / ".venv"
BUILD_LOCK = Path(__file__).with_name("build.lock")

_STAMP = ENVIRONMENT / ".complete"
_PROJECT = REPOSITORY / "pyproject.toml"


def install_environment() -> None:
    """Brings `.venv` to the state of the lock file; does nothing when it is there already.

    The cache is asked first, the network only for what the cache does not have.

    Raises:
        SetupError: uv cannot be had, or it failed.
    """
    wanted = _fingerprint()
    if _is_python(ENVIRONMENT) and _STAMP.exists() and _STAMP.read_text() == wanted:
        return
    say(f"environment: {ENVIRONMENT}")
    _STAMP.unlink(missing_ok=True)
    uv = find_uv()
    variables = uv_environment(os.environ)
    if not _is_python(ENVIRONMENT):
        _make(uv, variables)
    _synchronise(uv, variables)
    _install_project(uv, variables)
    _STAMP.write_text(wanted)


def site_packages() -> Path:
    """The folder with the packages of `.venv`."""
    return next((ENVIRONMENT / "lib").glob("python3.*/site-packages"))


def _is_python(environment: Path) -> bool:
    # The link is broken when the Python that it was made with is gone.
    return (environment / "bin" / "python").exists()


def _fingerprint() -> str:
    """Changes with the locked packages, the project's declaration and the place of the clone."""
    parts = (REQUIREMENTS.read_bytes(), _PROJECT.read_bytes(), str(ENVIRONMENT).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _make(uv: Path, variables: dict[str, str]) -> None:
    command = (uv, "venv", "--quiet", "--clear", "--python", sys.executable, ENVIRONMENT)
    run(command, variables, f"remove {ENVIRONMENT} and try again")


def _synchronise(uv: Path, variables: dict[str, str]) -> None:
    command: list[str | Path] = [uv, "pip", "sync", "--python", ENVIRONMENT / "bin" / "python"]
    # Else each process of Airflow and Spark compiles thousands of files where Python may not keep
    # them (PYTHONDONTWRITEBYTECODE, a read-only environment).
    command += ["--compile-bytecode"]
    command += ["--require-hashes", "--build-constraints", BUILD_LOCK, REQUIREMENTS]
    if succeeds([*command, "--offline"], variables):
        return
    say("packages: downloading what the cache does not have")
    advice = (
        "check the network (a proxy is set with HTTPS_PROXY, a mirror with UV_DEFAULT_INDEX) "
        "and the space on the disk, and try again: what was downloaded is kept"
    )
    run(command, variables, advice)


def _install_project(uv: Path, variables: dict[str, str]) -> None:
    command: list[str | Path] = [uv, "pip", "install", "--quiet", "--offline", "--no-deps"]
    command += ["--python", ENVIRONMENT / "bin" / "python"]
    command += ["--no-build-isolation", "--editable", REPOSITORY]
    run(command, variables, f"check {_PROJECT}, or remove {ENVIRONMENT}, and try again")
