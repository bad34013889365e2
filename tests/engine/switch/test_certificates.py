import datetime
import subprocess
from pathlib import Path

import pytest
from cryptography import x509

from engine.switch.certificates import CertificateError, make_certificates


def test_openssl_finds_them_good_for_their_purpose_and_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    made = make_certificates(folder, ["10.0.0.1", "s2.example.org"])
    assert [path.stem for path in made] == ["ca", "controller", "reader", "10.0.0.1", "s2.example.org"]

    def verified(path: Path, purpose: str, *more: str) -> bool:
        command = ["openssl", "verify", "-x509_strict", "-CAfile", str(folder / "ca.pem"), "-purpose", purpose, *more]
        return subprocess.run([*command, str(path)], capture_output=True, check=False).returncode == 0

    for path in made[1:3]:
        assert verified(path, "sslclient")
        assert not verified(path, "sslserver")
    for path in made[3:]:
        assert verified(path, "sslserver")
        assert not verified(path, "sslclient")
    assert verified(made[3], "sslserver", "-verify_ip", "10.0.0.1")
    assert not verified(made[3], "sslserver", "-verify_ip", "10.0.0.2")
    assert verified(made[4], "sslserver", "-verify_hostname", "s2.example.org")


def test_keys_are_their_owner_s_and_certificates_end(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    for path in make_certificates(folder, ["s1"], days=3):
        assert path.with_suffix(".key").stat().st_mode & 0o777 == 0o600
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        left = certificate.not_valid_after_utc - datetime.datetime.now(datetime.UTC)
        assert datetime.timedelta(days=2) < left <= datetime.timedelta(days=3)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", "../s1", "ca", "controller", "reader"])
def test_names_that_no_switch_has(tmp_path: Path, name: str) -> None:
    with pytest.raises(CertificateError, match="no switch's address or name"):
        make_certificates(tmp_path / "tls", [name])
    assert not (tmp_path / "tls").exists()


def test_a_folder_is_not_used_twice(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        make_certificates(tmp_path, ["s1"])
