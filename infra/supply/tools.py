"""The programs that look at dependencies, in an environment of their own.

What is looked at does not change by looking.
"""

from pathlib import Path

from infra.setup.extra import extra_environment
from infra.setup.relock import AUDIT_LOCK


def tool(name: str) -> Path:
    """The path of a program of `audit.lock`, installed when it is not there.

    Raises:
        SetupError: It cannot be installed.
    """
    return extra_environment(AUDIT_LOCK) / "bin" / name
