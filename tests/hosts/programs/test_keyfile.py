import os
import time
from pathlib import Path

import pytest

from hosts.endpoint import Address
from hosts.programs.keyfile import MOST_BYTES, new_keys, read_hop_keys, read_keys, roll, write_hop_keys, write_keys
from hosts.security.hop import COUNTS, HopKeys, Hops
from hosts.security.keys import KeysError
from hosts.wire.sealed import HOP


def test_a_file_is_its_owner_s_only_and_read_as_it_was_written(tmp_path: Path) -> None:
    path, keys = tmp_path / "group.keys", new_keys()
    write_keys(path, keys)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_keys(path).epochs == keys.epochs
    assert new_keys().epochs != keys.epochs
    with pytest.raises(FileExistsError):
        write_keys(path, new_keys())
    assert read_keys(path).epochs == keys.epochs
    rolled = roll(keys)
    write_keys(path, rolled, replace=True)
    assert read_keys(path).epochs == rolled.epochs
    assert rolled.epochs[0] == keys.epochs[0]
    assert os.listdir(tmp_path) == ["group.keys"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o611, 0o777])
def test_what_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "group.keys"
    write_keys(path, new_keys())
    path.chmod(mode)
    with pytest.raises(KeysError, match=f"mode {mode:o}.*chmod 600"):
        read_keys(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_another_owns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "group.keys"
    write_keys(path, new_keys())
    os.chown(path, 12345, 12345)
    with pytest.raises(KeysError, match="not yours"):
        read_keys(path)


@pytest.mark.parametrize("length", [0, 1, 20, 44])
def test_a_file_that_is_cut_short_is_named_and_never_a_traceback(tmp_path: Path, length: int) -> None:
    path = tmp_path / "group.keys"
    write_keys(path, new_keys())
    text = path.read_bytes()
    path.write_bytes(text[text.index(b"\n") + 1 :][:length])
    with pytest.raises(KeysError, match=f"^{path}: "):
        read_keys(path)


def test_any_other_file_is_no_key_file(tmp_path: Path) -> None:
    path = tmp_path / "other"
    for content, message in ((b"\xff\x00\xfe", "not a group's secret"), (bytes(MOST_BYTES + 1), "too long")):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(KeysError, match=message):
            read_keys(path)
    with pytest.raises(FileNotFoundError):
        read_keys(tmp_path / "missing")


def test_a_port_s_counters_go_on_rising_when_the_clock_was_set_back_with_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "r1.hop", time.time()
    write_hop_keys(path, HopKeys(1, 2))
    ends = Address("10.0.0.2", 1), Address("10.0.0.1", 2)
    counters = []
    for seconds in (5.0, 6.5, -3600.0, -3599.5, -7200.0, 60.0):
        monkeypatch.setattr("hosts.programs.keyfile.time.time", lambda at=now + seconds: at)
        keys = read_hop_keys(path)
        assert (keys.later_s > 0) == (seconds < 0)
        hops = Hops(keys, lambda at=now + seconds: at)  # type: ignore[misc]
        counters.append(HOP.made_of(HOP.struct.unpack(hops.sign(bytes(8), *ends))).counter)
    assert counters == sorted(set(counters))
    assert counters[-1] == pytest.approx((now + 60.0) * COUNTS, rel=1e-9)


def test_a_port_s_keys_come_back_and_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r1.hop"
    keys = HopKeys(outward=1, inward=2**64 - 1)
    write_hop_keys(path, keys)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_hop_keys(path)[:3] == keys[:3]
    for wrong in ("", "1", "1 2 3", "1 x", f"1 {2**64:x}", "-1 2"):
        path.write_text(wrong)
        with pytest.raises(KeysError, match=r"r1\.hop: "):
            read_hop_keys(path)
    path.chmod(0o640)
    with pytest.raises(KeysError, match="others may read"):
        read_hop_keys(path)
