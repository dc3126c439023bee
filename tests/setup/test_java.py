"""Which Java is used."""

import subprocess
from pathlib import Path

import pytest

from infra.setup import java
from infra.setup.errors import SetupError

SETTINGS = """\
Property settings:
    file.separator = /
    java.home = /opt/java
    java.specification.name = Java Platform API Specification
    java.specification.version = {version}
    java.version = {version}.0.1
"""


@pytest.fixture
def no_java(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


def java_home(folder: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return folder


@pytest.mark.parametrize("version", ["17", "21"])
def test_java_17_and_21_are_used(version):
    assert java.parse_home(SETTINGS.format(version=version)) == Path("/opt/java")


@pytest.mark.parametrize("version", ["1.8", "11", "22", "25", ""])
def test_any_other_version_is_not_used(version):
    assert java.parse_home(SETTINGS.format(version=version)) is None


@pytest.mark.parametrize(
    ("release", "usable"),
    [
        ('JAVA_VERSION="17.0.15"\nMODULES="java.base jdk.incubator.vector"', True),
        ('JAVA_VERSION="21"\nMODULES="java.base jdk.incubator.vector jdk.zipfs"', True),
        ('JAVA_VERSION="25.0.3"\nMODULES="java.base jdk.incubator.vector"', False),
        ('JAVA_VERSION="1.8.0_402"', False),
        ('JAVA_VERSION="21.0.8"\nMODULES="java.base"', False),
        ("", False),
    ],
)
def test_the_release_file_tells_the_version_and_the_modules(release, usable):
    assert java.is_usable_release(release) is usable


def test_java_home_goes_before_the_path(tmp_path, monkeypatch):
    first, second = java_home(tmp_path / "a", "21.0.8"), java_home(tmp_path / "b", "17.0.1")
    monkeypatch.setenv("PATH", str(second / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(first))
    assert java.users_java_home() == first


def test_a_java_home_of_another_version_is_passed_over(tmp_path, monkeypatch):
    first, second = java_home(tmp_path / "a", "25.0.3"), java_home(tmp_path / "b", "17.0.1")
    monkeypatch.setenv("PATH", str(second / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(first))
    assert java.java_home(tmp_path / "installed") == second


@pytest.mark.usefixtures("no_java")
def test_without_one_the_installed_runtime_is_used(tmp_path):
    assert java.java_home(tmp_path) == tmp_path


@pytest.mark.usefixtures("no_java")
def test_with_none_at_all_the_message_says_what_to_do(tmp_path):
    with pytest.raises(SetupError, match=r"No Java 17 or 21 found.*run `make setup`"):
        java.java_home(tmp_path / "missing")


@pytest.fixture
def runtime(tmp_path) -> Path:
    """A runtime whose `java` prints its arguments, one a line."""
    program = tmp_path / "java-runtime" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    return program.parent.parent


def test_the_installed_java_drops_only_the_module_it_lacks(tmp_path, runtime):
    java.install(runtime, tmp_path / "installed")
    command = [tmp_path / "installed" / "bin" / "java", "-Dname=two words"]
    command += [java.VECTOR_MODULE, "--add-modules=jdk.other", "Main", "", "$HOME *"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.split("\n") == [
        *("-Dname=two words", "--add-modules=jdk.other", "Main", "", "$HOME *", "")
    ]


def test_a_runtime_that_does_not_start_is_not_installed(tmp_path, runtime):
    (runtime / "bin" / "java").write_text("#!/bin/sh\necho no such library\nexit 1\n")
    with pytest.raises(SetupError, match=r"put a Java 17 or 21 on PATH(.|\n)*no such library"):
        java.install(runtime, tmp_path / "installed")
    assert not (tmp_path / "installed").exists()
