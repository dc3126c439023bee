"""`make lock`: makes the lock files again from what the project declares.

A package keeps its version unless the declaration asks for another one; to take new versions,
change the declaration or remove the package's lines from the lock file first.
"""

import os
import subprocess
import sys
from pathlib import Path

from infra.setup.command import say
from infra.setup.environment import BUILD_LOCK
from infra.setup.errors import SetupError
from infra.setup.layout import REPOSITORY, REQUIREMENTS
from infra.setup.uv import LOCK_FILE, find_uv, uv_environment

# No name of a host gets into a lock file: everyone brings their own registry or mirror.
_OPTIONS = (
    *("--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"),
    *("--no-emit-index-url", "--no-annotate", "--no-header"),
)
AUDIT_LOCK = Path(__file__).with_name("audit.lock")
PEERS_LOCK = Path(__file__).with_name("peers.lock")
HUDI_LOCK = Path(__file__).with_name("hudi.lock")
# pyspark comes as source: what builds it is pinned too.
_BUILD_PACKAGES = "setuptools\nwheel\n"
# What looks at dependencies is none of them.
_AUDIT_PACKAGES = "cyclonedx-bom==7.5.0\npip-audit==2.10.1\n"
# What the benchmark compares with, what reads its results, and what draws them.
_PEERS_PACKAGES = (
    "deltalake==1.6.6\nduckdb==2.0.0\nmatplotlib==3.11.2\npyarrow\npyiceberg[sql-sqlite]==0.12.0\n"
)
# Hudi has no bundle for the Spark of this project.
_HUDI_PACKAGES = "duckdb==2.0.0\npyarrow\npyspark==3.5.9\n"


def main() -> int:
    """Makes the lock files; returns the exit code."""
    try:
        _compile(REQUIREMENTS, ("pyproject.toml", "--extra", "dev"))
        _compile(BUILD_LOCK, ("-",), _BUILD_PACKAGES)
        _compile(AUDIT_LOCK, ("-",), _AUDIT_PACKAGES)
        _compile(PEERS_LOCK, ("-",), _PEERS_PACKAGES)
        _compile(HUDI_LOCK, ("-",), _HUDI_PACKAGES)
        _compile(LOCK_FILE, ("-",), "uv\n")
    except SetupError as error:
        print(f"[setup] failed: {error}", file=sys.stderr)
        return 1
    return 0


def _compile(lock: Path, source: tuple[str, ...], text: str = "") -> None:
    say(f"locking {lock.relative_to(REPOSITORY)}")
    done = subprocess.run(
        [find_uv(), "pip", "compile", *source, *_OPTIONS, "--output-file", lock],
        cwd=REPOSITORY,
        env=uv_environment(os.environ),
        input=text,
        text=True,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        raise SetupError(
            f"{lock.name} could not be made (see above): check the network and pyproject.toml"
        )


if __name__ == "__main__":
    sys.exit(main())
