"""Installs the pinned jars: downloads what is missing, checks each sha256, fills the folders."""

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from infra.setup import truststore
from infra.setup.command import say
from infra.setup.environment import site_packages
from infra.setup.errors import SetupError
from infra.setup.ivy import Ivy, download
from infra.setup.layout import cache_dir, jar_folder, java_home
from infra.setup.lock import Jar, digest, locked_jars


def install_jars() -> None:
    """Makes the folder of each set of jars that is not there yet.

    Raises:
        SetupError: a jar cannot be downloaded, or is not the pinned one.
    """
    missing = {name: jars for name, jars in locked_jars().items() if not jar_folder(name).is_dir()}
    if not missing:
        return
    # The large archives first: they take longest.
    wanted = [
        jar for name in sorted(missing, key=lambda name: name != "bin") for jar in missing[name]
    ]
    _install({jar_folder(name): jars for name, jars in missing.items()}, wanted)


def extra_jars(name: str, jars: Sequence[Jar]) -> Path:
    """The folder of jars that are none of the project's own, installed when it is not there.

    Raises:
        SetupError: as `install_jars`.
    """
    folder = cache_dir() / "jars" / f"{name}-{digest(tuple(jars))}"
    if not folder.is_dir():
        _install({folder: jars}, jars)
    return folder


def _install(folders: Mapping[Path, Sequence[Jar]], wanted: Sequence[Jar]) -> None:
    ivy = _ivy()
    download(ivy, list(dict.fromkeys(wanted)))
    for jar in dict.fromkeys(wanted):
        verify(ivy.downloaded(jar), jar)
    for folder, jars in folders.items():
        _fill(folder, ivy, jars)
    shutil.rmtree(ivy.folder)
    say(f"jars: {len(set(wanted))} files in {cache_dir() / 'jars'}")


def verify(path: Path, jar: Jar) -> None:
    """Compares a downloaded file with its pin; removes it when it is another.

    Raises:
        SetupError: the file is not the pinned one.
    """
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != jar.sha256:
        path.unlink()
        raise SetupError(
            f"{jar.coordinate} is not the pinned file: sha256 is {found}, expected {jar.sha256}; "
            "the download was removed, run `make setup` again. If it fails again, the repository "
            "or something on the way changes the file: do not use it, ask who runs the network"
        )


def _ivy() -> Ivy:
    folder = cache_dir() / "ivy"
    folder.mkdir(parents=True, exist_ok=True)
    program = next((site_packages() / "pyspark" / "jars").glob("ivy-*.jar"))
    options = ["-Xmx256m", *_trust_options(folder / "truststore.jks"), *proxy_options(os.environ)]
    java = java_home() / "bin" / "java"
    return Ivy((str(java), *options, "-jar", str(program)), folder)


def proxy_options(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Java's options for the proxy that the other tools take from `HTTPS_PROXY`."""
    named = environment.get("HTTPS_PROXY") or environment.get("https_proxy")
    if not named:
        return ()
    proxy = urlsplit(named if "//" in named else f"//{named}")
    return (f"-Dhttps.proxyHost={proxy.hostname}", f"-Dhttps.proxyPort={proxy.port or 80}")


def _trust_options(store: Path) -> tuple[str, ...]:
    certificates = truststore.trusted_certificates()
    if not certificates:
        return ()
    store.write_bytes(truststore.encode_truststore(certificates))
    return (
        f"-Djavax.net.ssl.trustStore={store}",
        f"-Djavax.net.ssl.trustStorePassword={truststore.PASSWORD}",
    )


def _fill(folder: Path, ivy: Ivy, jars: Sequence[Jar]) -> None:
    unfinished = cache_dir() / "jars" / f".{folder.name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for jar in jars:
        _link(ivy.downloaded(jar), unfinished / jar.file_name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished.rename(folder)


def _link(source: Path, target: Path) -> None:
    """Puts a file in a second place: sets share files, and the download folder goes."""
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)
