"""The fuzz targets' corpus, which a script makes."""

import json
from pathlib import Path

from tests.engine.whole import fuzz_corpus


def test_every_target_has_inputs_and_keeps_what_was_found(tmp_path: Path) -> None:
    fuzz_corpus.make(tmp_path)
    (tmp_path / "packets" / "found-crash").write_bytes(b"found")
    (tmp_path / "packets" / "of-another-time").write_bytes(b"old")
    fuzz_corpus.make(tmp_path)
    for target, entries in fuzz_corpus.TARGETS.items():
        made = {path.name: path.read_bytes() for path in (tmp_path / target).iterdir()}
        found = {"found-crash": b"found"} if target == "packets" else {}
        assert len(made) > len(found)
        assert made == dict(entries()) | found
        assert max(map(len, made.values())) < 32_000, "small inputs are tried more often"


def test_programs_are_kept_whole_but_for_their_source() -> None:
    for name, text in fuzz_corpus.programs():
        program = json.loads(text)
        assert program["pipelines"], name
        assert "source_info" not in text.decode()


def test_frames_are_framed_as_the_targets_read_them() -> None:
    for name, data in [*fuzz_corpus.packets(), *fuzz_corpus.headers()]:
        at = 0
        while at < len(data):
            at += 4 + int.from_bytes(data[at + 2 : at + 4])
        assert at == len(data), name
