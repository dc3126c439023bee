"""Skipped tests are named, and fail the run in CI."""

import os
import subprocess
import sys

import pytest

from infra.setup.layout import REPOSITORY

TESTS = """\
import pytest

def test_passes():
    pass

@pytest.mark.xfail(strict=True)
def test_fails_as_expected():
    raise ValueError
"""
SKIPPED = """\

def test_needs_more():
    pytest.skip("no chromium: apt-get install chromium")
"""


@pytest.fixture
def run_pytest(tmp_path):
    def run(tests: str, ci: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "test_some.py").write_text(tests)
        command = [sys.executable, "-m", "pytest", "-p", "tests.plugins.loud_skips"]
        return subprocess.run(
            [*command, "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
            cwd=tmp_path,
            env={**os.environ, "CI": ci, "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_without_skips_the_run_passes_in_ci(run_pytest):
    assert run_pytest(TESTS, "true").returncode == 0


def test_a_skip_is_named_and_passes_elsewhere(run_pytest):
    done = run_pytest(TESTS + SKIPPED, "")
    assert done.returncode == 0
    assert "test_needs_more: no chromium: apt-get install chromium" in done.stdout


def test_a_skip_fails_the_run_in_ci_and_pytests_own_line_is_the_last(run_pytest):
    done = run_pytest(TESTS + SKIPPED, "true")
    assert done.returncode == 1
    assert "1 skipped: in CI this fails the run" in done.stdout
    assert "1 passed, 1 skipped, 1 xfailed" in done.stdout.splitlines()[-1]


def test_a_module_that_skips_itself_counts_too(run_pytest):
    tests = 'import pytest\npytest.skip("not here", allow_module_level=True)\n'
    done = run_pytest(TESTS.replace("import pytest\n", tests), "true")
    assert done.returncode != 0
