"""Files for TLS that are cut short are named."""

from pathlib import Path

import pytest

from engine.command.tls import TlsFileError, check_tls_files
from engine.switch.certificates import make_certificates


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("certificates") / "tls"
    make_certificates(made, ["s1", "s2"])
    return made


def check(folder: Path) -> None:
    check_tls_files(folder / "s1.pem", folder / "s1.key", folder / "ca.pem")


def test_whole_ones_are_taken(folder: Path) -> None:
    check(folder)
    check_tls_files(folder / "s1.pem", folder / "s1.key", None)


@pytest.mark.parametrize("name", ["s1.pem", "s1.key", "ca.pem"])
def test_one_that_is_cut_anywhere_is_named(folder: Path, name: str) -> None:
    path = folder / name
    whole = path.read_bytes()
    try:
        for length in (0, 1, 30, *range(40, len(whole) - 2, 53), len(whole) - 2):
            path.write_bytes(whole[:length])
            with pytest.raises(TlsFileError, match=rf"^{path}: no.*, or not whole$"):
                check(folder)
        path.unlink()
        with pytest.raises(TlsFileError, match=rf"^{path}: No such file or directory$"):
            check(folder)
    finally:
        path.write_bytes(whole)


def test_another_s_key_is_none(folder: Path) -> None:
    with pytest.raises(TlsFileError, match=r"s2.key: not the key of .*s1.pem"):
        check_tls_files(folder / "s1.pem", folder / "s2.key", None)
