"""The fuzz targets' corpus: there is one, and its script can make it."""

import json

import pytest

from tests.engine.whole import fuzz_corpus

TARGETS = {"program": fuzz_corpus.programs, "packets": fuzz_corpus.packets, "headers": fuzz_corpus.headers}


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_inputs(target: str) -> None:
    made = dict(TARGETS[target]())
    kept = {path.name: path.read_bytes() for path in (fuzz_corpus.CORPUS / target).iterdir()}
    assert made
    assert kept.keys() & made.keys()
    assert max(map(len, kept.values())) < 32_000, "the repository keeps small inputs only"


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
