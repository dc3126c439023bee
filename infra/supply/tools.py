"""The programs that look at dependencies, in an environment of their own in the cache.

What is looked at does not change by looking.
"""

import hashlib
import os
import sys
from pathlib import Path

from infra.setup.command import run
from infra.setup.layout import cache_dir
from infra.setup.relock import AUDIT_LOCK
from infra.setup.uv import find_uv, uv_environment

_ADVICE = "check the network (a mirror is set with UV_DEFAULT_INDEX) and try again"


def tool(name: str) -> Path:
    """The path of a program of `audit.lock`, installed when it is not there.

    Raises:
        SetupError: It cannot be installed.
    """
    version = hashlib.sha256(AUDIT_LOCK.read_bytes()).hexdigest()[:12]
    environment = cache_dir() / f"audit-{version}"
    if not (environment / "complete").exists():
        _install(environment)
    return environment / "bin" / name


def _install(environment: Path) -> None:
    uv, variables = find_uv(), uv_environment(os.environ)
    make = (uv, "venv", "--quiet", "--clear", "--python", sys.executable, environment)
    run(make, variables, f"remove {environment} and try again")
    python = environment / "bin" / "python"
    sync = (uv, "pip", "sync", "--quiet", "--python", python, "--require-hashes", AUDIT_LOCK)
    run(sync, variables, _ADVICE)
    (environment / "complete").touch()
