"""Finds uv, or installs the pinned one into the cache with nothing but Python and pip."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from infra.setup.command import python_name, run, say, succeeds
from infra.setup.errors import SetupError
from infra.setup.layout import cache_dir
from infra.setup.truststore import machine_bundle

LOCK_FILE = Path(__file__).with_name("bootstrap.lock")
OLDEST_USABLE = (0, 8)

_ADVICE = (
    "check the network (a proxy or a mirror is set with pip's own variables, such as "
    "HTTPS_PROXY and PIP_INDEX_URL), or put uv on PATH"
)


def find_uv() -> Path:
    """The path of uv: the one in the cache, else the one on `PATH`, else a new one in the cache.

    Raises:
        SetupError: there is none and it cannot be installed.
    """
    cached = cache_dir() / "uv" / _pinned_version() / "uv"
    if cached.exists():
        return cached
    on_path = shutil.which("uv")
    if on_path is not None and is_usable(_version_line(on_path)):
        return Path(on_path)
    _install(cached)
    return cached


def is_usable(version_line: str) -> bool:
    """True if what `uv --version` prints names a version that the set-up works with."""
    found = re.match(r"uv (\d+)\.(\d+)", version_line)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST_USABLE


def uv_environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment for uv: its cache inside ours, no Python of its own, pip's mirror.

    The machine's certificate authorities count, not only those that uv brings: a company's proxy
    has one of its own.
    """
    chosen = {
        "UV_CACHE_DIR": str(cache_dir() / "uv-cache"),
        "UV_HTTP_TIMEOUT": "180",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    bundle = machine_bundle()
    if bundle is not None:
        chosen["SSL_CERT_FILE"] = str(bundle)
    if "PIP_INDEX_URL" in base:
        chosen["UV_DEFAULT_INDEX"] = base["PIP_INDEX_URL"]
    return chosen | {name: value for name, value in base.items() if name != "VIRTUAL_ENV"}


def _pinned_version() -> str:
    found = re.search(r"^uv==(\S+)", LOCK_FILE.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SetupError(f"{LOCK_FILE} does not pin uv: restore the file with `git checkout`")
    return found[1]


def _version_line(command: str) -> str:
    try:
        shown = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return shown.stdout


def _install(target: Path) -> None:
    say(f"uv {_pinned_version()}: installing")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        # A temporary name first: a uv that exists is complete.
        _pip_install(Path(scratch)).replace(target)


def _pip_install(scratch: Path) -> Path:
    """Installs uv below `scratch` in the first way that this Python offers."""
    ways: tuple[Callable[[Path], Path | None], ...] = (_in_environment, _in_folder)
    for way in ways:
        found = way(scratch)
        if found is not None:
            return found
    raise SetupError(
        f"{python_name()} can install nothing: it has neither `ensurepip` nor `pip`. Install one "
        "(Debian and Ubuntu, as root: `apt-get install python3-venv`; Fedora: `dnf install "
        "python3-pip`), or put uv on PATH, and try again"
    )


def _in_environment(scratch: Path) -> Path | None:
    environment = scratch / "environment"
    if not succeeds([sys.executable, "-m", "venv", environment], os.environ):
        return None
    run([environment / "bin" / "python", *_PIP_INSTALL, LOCK_FILE], os.environ, _ADVICE)
    return environment / "bin" / "uv"


def _in_folder(scratch: Path) -> Path | None:
    if not succeeds([sys.executable, "-m", "pip", "--version"], os.environ):
        return None
    folder = scratch / "folder"
    command = (sys.executable, *_PIP_INSTALL, LOCK_FILE, "--target", folder)
    run(command, os.environ, _ADVICE)
    return folder / "bin" / "uv"


_PIP_INSTALL = (
    *("-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
    *("--only-binary", ":all:", "--no-deps", "--require-hashes", "-r"),
)
