"""Makes shared libraries whose functions answer "not supported", for a MySQL that runs anywhere.

The MySQL binaries are linked to `libaio.so.1` and `libnuma.so.1`. A fresh machine has neither,
and without root they cannot be installed. MySQL needs neither for its work: told that a kernel
interface is missing it uses its own simulation. So each library is made here, as the smallest
ELF file that the dynamic linker takes: no compiler, the same bytes on every machine.

Format: https://refspecs.linuxfoundation.org/elf/elf.pdf, versions of symbols:
https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
"""

import struct
from dataclasses import dataclass

_ENOSYS = -38  # "function not implemented", as Linux reports it

# Where each part is, in the file and in memory; the second page is the one that can be written.
_HEADERS, _CODE, _HASH, _SYMBOLS, _VERSYM, _VERDEF, _STRINGS = range(0, 0xE00, 0x200)
_PAGE = 0x1000
_VARIABLE, _DYNAMIC = _PAGE, _PAGE + 0x10

_CODE_SIZE, _SYMBOL_SIZE = 8, 24
_PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK = 1, 2, 0x6474E551
_EXECUTABLE, _WRITABLE, _READABLE = 1, 2, 4
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT, _DT_SONAME = 4, 5, 6, 10, 11, 14
_DT_VERSYM, _DT_VERDEF, _DT_VERDEFNUM = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD
_GLOBAL_OBJECT, _GLOBAL_FUNCTION = 0x11, 0x12
_DEFINED_HERE = 1  # any section number but 0: the linker only asks whether it is defined


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name that the library offers.

    Attributes:
        result: what the function returns; None for a variable that holds a null pointer.
    """

    name: str
    version: str
    result: int | None


@dataclass(frozen=True, slots=True)
class StubLibrary:
    """A shared library by its file name, with all that it offers."""

    name: str
    symbols: tuple[Symbol, ...]


LIBAIO = StubLibrary(
    "libaio.so.1",
    (
        Symbol("io_setup", "LIBAIO_0.4", _ENOSYS),
        Symbol("io_getevents", "LIBAIO_0.4", _ENOSYS),
        Symbol("io_submit", "LIBAIO_0.1", _ENOSYS),
    ),
)
LIBNUMA = StubLibrary(
    "libnuma.so.1",
    (
        Symbol("numa_available", "libnuma_1.1", -1),
        Symbol("numa_alloc_local", "libnuma_1.1", 0),
        Symbol("numa_alloc_onnode", "libnuma_1.1", 0),
        Symbol("numa_free", "libnuma_1.1", 0),
        Symbol("mbind", "libnuma_1.1", -1),
        Symbol("set_mempolicy", "libnuma_1.1", -1),
        Symbol("numa_num_configured_cpus", "libnuma_1.2", 1),
        Symbol("numa_node_of_cpu", "libnuma_1.2", 0),
        Symbol("numa_all_nodes_ptr", "libnuma_1.2", None),
    ),
)


def encode_library(library: StubLibrary) -> bytes:
    """The file of the library, for Linux on x86_64."""
    strings = _strings(library)
    dynamic = _dynamic_section(library, strings)
    parts = {
        _HEADERS: _headers(len(dynamic)),
        _CODE: b"".join(_code(symbol) for symbol in library.symbols),
        _HASH: _hash_table(library),
        _SYMBOLS: _symbol_table(library, strings),
        _VERSYM: _symbol_versions(library),
        _VERDEF: _version_definitions(library, strings),
        _STRINGS: strings,
        _VARIABLE: bytes(8),
        _DYNAMIC: dynamic,
    }
    image = b""
    for start, part in parts.items():
        if len(image) > start:
            raise ValueError(f"{library.name!r} has more symbols than fit before {start:#x}")
        image = image.ljust(start, b"\0") + part
    return image


def _headers(dynamic_size: int) -> bytes:
    identity = b"\x7fELF" + bytes([2, 1, 1]).ljust(12, b"\0")
    elf = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 4, 64, 0, 0)
    return (
        identity
        + elf
        + b"".join(
            (
                _program_header(_PT_LOAD, _READABLE | _EXECUTABLE, 0, _PAGE),
                _program_header(
                    _PT_LOAD, _READABLE | _WRITABLE, _PAGE, _DYNAMIC - _PAGE + dynamic_size
                ),
                _program_header(_PT_DYNAMIC, _READABLE | _WRITABLE, _DYNAMIC, dynamic_size),
                _program_header(_PT_GNU_STACK, _READABLE | _WRITABLE, 0, 0),
            )
        )
    )


def _program_header(kind: int, flags: int, start: int, size: int) -> bytes:
    alignment = _PAGE if kind == _PT_LOAD else 8
    return struct.pack("<IIQQQQQQ", kind, flags, start, start, start, size, size, alignment)


def _code(symbol: Symbol) -> bytes:
    # mov rax, result; ret
    return b"\x48\xc7\xc0" + struct.pack("<i", symbol.result or 0) + b"\xc3"


def _hash_table(library: StubLibrary) -> bytes:
    """One bucket, which lists all symbols."""
    last = len(library.symbols)
    chain = [0, *range(2, last + 1), 0]
    return struct.pack(f"<{len(chain) + 3}I", 1, last + 1, 1, *chain)


def _symbol_table(library: StubLibrary, strings: bytes) -> bytes:
    entries = [bytes(_SYMBOL_SIZE)]
    for number, symbol in enumerate(library.symbols):
        is_function = symbol.result is not None
        kind = _GLOBAL_FUNCTION if is_function else _GLOBAL_OBJECT
        address = _CODE + number * _CODE_SIZE if is_function else _VARIABLE
        name = _offset(strings, symbol.name)
        entries.append(struct.pack("<IBBHQQ", name, kind, 0, _DEFINED_HERE, address, 8))
    return b"".join(entries)


def _symbol_versions(library: StubLibrary) -> bytes:
    numbers = {version: number for number, version in enumerate(_versions(library), start=1)}
    indices = [0, *(numbers[symbol.version] for symbol in library.symbols)]
    return struct.pack(f"<{len(indices)}H", *indices)


def _version_definitions(library: StubLibrary, strings: bytes) -> bytes:
    versions = _versions(library)
    definitions = []
    for number, version in enumerate(versions, start=1):
        is_base, is_last = number == 1, number == len(versions)
        definitions.append(
            struct.pack(
                "<HHHHIII", 1, is_base, number, 1, _elf_hash(version), 20, 28 * (not is_last)
            )
            + struct.pack("<II", _offset(strings, version), 0)
        )
    return b"".join(definitions)


def _versions(library: StubLibrary) -> tuple[str, ...]:
    """The versions in the order of their numbers; the library's own name is the first."""
    return (library.name, *dict.fromkeys(symbol.version for symbol in library.symbols))


def _dynamic_section(library: StubLibrary, strings: bytes) -> bytes:
    entries = (
        (_DT_SONAME, _offset(strings, library.name)),
        (_DT_HASH, _HASH),
        (_DT_STRTAB, _STRINGS),
        (_DT_SYMTAB, _SYMBOLS),
        (_DT_STRSZ, len(strings)),
        (_DT_SYMENT, _SYMBOL_SIZE),
        (_DT_VERSYM, _VERSYM),
        (_DT_VERDEF, _VERDEF),
        (_DT_VERDEFNUM, len(_versions(library))),
        (0, 0),
    )
    return b"".join(struct.pack("<QQ", tag, value) for tag, value in entries)


def _strings(library: StubLibrary) -> bytes:
    names = (*_versions(library), *(symbol.name for symbol in library.symbols))
    return b"\0" + b"".join(name.encode("ascii") + b"\0" for name in names)


def _offset(strings: bytes, name: str) -> int:
    return strings.index(b"\0" + name.encode("ascii") + b"\0") + 1


def _elf_hash(name: str) -> int:
    value = 0
    for byte in name.encode("ascii"):
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value
