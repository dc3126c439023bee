"""Database binaries, and the libraries made for MySQL."""

import ctypes
import platform

import pytest

from infra.setup.databases import check_platform
from infra.setup.errors import SetupError
from infra.setup.stub_library import LIBAIO, LIBNUMA, StubLibrary, Symbol, encode_library

on_linux_x86_64 = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the library is for Linux on x86_64",
)


def test_linux_on_x86_64_has_binaries():
    check_platform("Linux", "x86_64")


@pytest.mark.parametrize("machine", [("Linux", "aarch64"), ("Darwin", "x86_64")])
def test_another_machine_is_refused_with_what_still_works(machine):
    with pytest.raises(SetupError, match=r"expected Linux on x86_64.*the jobs run here"):
        check_platform(*machine)


@on_linux_x86_64
@pytest.mark.parametrize("library", [LIBAIO, LIBNUMA], ids=lambda library: library.name)
def test_the_dynamic_linker_finds_every_function_with_its_result(tmp_path, library):
    path = tmp_path / library.name
    path.write_bytes(encode_library(library))
    loaded = ctypes.CDLL(str(path))
    functions = {one.name: one.result for one in library.symbols if one.result is not None}
    assert {name: loaded[name]() for name in functions} == functions


@on_linux_x86_64
def test_every_symbol_has_its_version(tmp_path):
    path = tmp_path / LIBAIO.name
    path.write_bytes(encode_library(LIBAIO))
    loaded = ctypes.CDLL(str(path))
    find = ctypes.CDLL(None).dlvsym
    find.restype = ctypes.c_void_p
    find.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    assert find(loaded._handle, b"io_setup", b"LIBAIO_0.4")  # noqa: SLF001
    assert not find(loaded._handle, b"io_setup", b"LIBAIO_0.1")  # noqa: SLF001


@on_linux_x86_64
def test_a_variable_holds_a_null_pointer(tmp_path):
    path = tmp_path / LIBNUMA.name
    path.write_bytes(encode_library(LIBNUMA))
    loaded = ctypes.CDLL(str(path))
    assert not ctypes.c_void_p.in_dll(loaded, "numa_all_nodes_ptr")


def test_a_library_with_too_many_symbols_is_refused():
    many = tuple(Symbol(f"name_{number}", "V_1", 0) for number in range(200))
    with pytest.raises(ValueError, match="more symbols than fit"):
        encode_library(StubLibrary("libmany.so.1", many))
