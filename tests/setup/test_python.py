"""Which Python is used, and that the set-up needs nothing else."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from infra.setup.__main__ import check_python
from infra.setup.errors import SetupError
from infra.setup.layout import REPOSITORY
from infra.setup.truststore import machine_bundle
from infra.setup.uv import is_usable, uv_environment

SETUP = REPOSITORY / "infra" / "setup"


def make_python(folder: Path, name: str, version: str) -> None:
    """A stand-in that answers the one question that find-python.sh asks."""
    program = folder / name
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.version_info = ({version}); $2"\n'
    )
    program.chmod(0o755)


def find_python(folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["/bin/sh", SETUP / "find-python.sh"],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ({"python3": "3, 11, 2"}, "python3"),
        ({"python3": "3, 9, 1", "python3.12": "3, 12, 0"}, "python3.12"),
        ({"python3": "3, 14, 0", "python3.11": "3, 11, 9"}, "python3.11"),
        ({"python3.11": "3, 11, 9", "python3.13": "3, 13, 0"}, "python3.13"),
    ],
)
def test_the_first_python_in_range_is_chosen(tmp_path, pythons, chosen):
    for name, version in pythons.items():
        make_python(tmp_path, name, version)
    assert find_python(tmp_path).stdout.strip() == str(tmp_path / chosen)


def test_a_stand_in_that_refuses_to_run_is_passed_over(tmp_path):
    (tmp_path / "python3.13").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "python3.13").chmod(0o755)
    make_python(tmp_path, "python3.12", "3, 12, 1")
    assert find_python(tmp_path).stdout.strip() == str(tmp_path / "python3.12")


@pytest.mark.parametrize("version", ["3, 10, 9", "3, 14, 0", "2, 7, 18"])
def test_without_one_in_range_the_message_says_what_to_install(tmp_path, version):
    make_python(tmp_path, "python3", version)
    found = find_python(tmp_path)
    assert (found.returncode, found.stdout) == (1, "")
    assert "No Python 3.11, 3.12 or 3.13 found" in found.stderr
    assert "apt-get install" in found.stderr


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_the_locked_packages_support_this_python(version):
    check_python(version)


@pytest.mark.parametrize("version", [(3, 10), (3, 14), (2, 7)])
def test_another_python_is_refused(version):
    with pytest.raises(SetupError, match=r"expected Python 3\.11, 3\.12 or 3\.13"):
        check_python(version)


@pytest.mark.parametrize(
    ("line", "usable"),
    [
        ("uv 0.13.8 (x86_64-unknown-linux-gnu)", True),
        ("uv 0.8.0", True),
        ("uv 1.0.0", True),
        ("uv 0.7.22", False),
        ("uvicorn 0.54.0", False),
        ("", False),
    ],
)
def test_a_uv_on_the_path_is_used_if_it_is_new_enough(line, usable):
    assert is_usable(line) is usable


@pytest.mark.usefixtures("cache")
def test_uv_uses_pips_mirror_and_never_fetches_a_python():
    variables = uv_environment({"PIP_INDEX_URL": "https://mirror.example", "VIRTUAL_ENV": "/x"})
    assert variables["UV_DEFAULT_INDEX"] == "https://mirror.example"
    assert variables["UV_PYTHON_DOWNLOADS"] == "never"
    assert "VIRTUAL_ENV" not in variables


@pytest.mark.usefixtures("cache")
def test_uv_trusts_whom_the_machine_trusts():
    bundle = machine_bundle()
    assert uv_environment({}).get("SSL_CERT_FILE") == (str(bundle) if bundle else None)
    assert uv_environment({"SSL_CERT_FILE": "/theirs.crt"})["SSL_CERT_FILE"] == "/theirs.crt"


@pytest.mark.parametrize("path", sorted(SETUP.glob("*.py")), ids=lambda path: path.name)
def test_the_set_up_imports_only_the_standard_library_and_itself(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
    outside = {
        name
        for name in imported
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not name.startswith("infra.setup")
    }
    assert outside == set()


def test_nothing_heavy_is_imported_with_the_package():
    tree = ast.parse((REPOSITORY / "infra" / "__init__.py").read_text())
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))
