"""The fuzz targets' corpus is what its script makes of today's programs and packets."""

from pathlib import Path

import pytest

from engine.fuzz import make_corpus

TARGETS = {"program": make_corpus.programs, "packets": make_corpus.packets, "headers": make_corpus.headers}


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_is_up_to_date(target: str) -> None:
    folder = Path(make_corpus.FUZZ, "corpus", target)
    kept = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith("found-")}
    assert kept == dict(TARGETS[target]()), "make it anew: python -m engine.fuzz.make_corpus"
