"""Environments beside `.venv`, each of one lock file, in the cache: made when first asked for."""

import hashlib
import os
import sys
from pathlib import Path

from infra.setup.command import run
from infra.setup.layout import cache_dir
from infra.setup.uv import find_uv, uv_environment

_ADVICE = "check the network (a mirror is set with UV_DEFAULT_INDEX) and try again"


def extra_environment(lock: Path) -> Path:
    """The folder of an environment with exactly the packages of a lock file.

    Raises:
        SetupError: It cannot be made.
    """
    version = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    environment = cache_dir() / f"{lock.stem}-{version}"
    if not (environment / "complete").exists():
        _install(environment, lock)
    return environment


def _install(environment: Path, lock: Path) -> None:
    uv, variables = find_uv(), uv_environment(os.environ)
    make = (uv, "venv", "--quiet", "--clear", "--python", sys.executable, environment)
    run(make, variables, f"remove {environment} and try again")
    python = environment / "bin" / "python"
    sync = (uv, "pip", "sync", "--quiet", "--python", python, "--require-hashes", lock)
    run(sync, variables, _ADVICE)
    (environment / "complete").touch()
