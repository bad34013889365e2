"""Compiling and stamping P4 programs."""

import json
from pathlib import Path

import pytest

from engine import p4c
from tests.engine.compiled_again import read_stamp


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "one.p4").write_text('#include "two.p4"\n')
    (folder / "two.p4").write_text("// nothing\n")
    return folder


def test_hash_is_of_names_and_contents(sources: Path) -> None:
    before = p4c.source_hash(sources)
    text = (sources / "one.p4").read_text()
    (sources / "one.p4").write_text(text + "\n")
    assert p4c.source_hash(sources) != before
    (sources / "one.p4").write_text(text)
    assert p4c.source_hash(sources) == before
    (sources / "one.p4").rename(sources / "three.p4")
    assert p4c.source_hash(sources) != before


def test_sources_in_folders_count_too(sources: Path) -> None:
    before = p4c.source_hash(sources)
    (sources / "parts").mkdir()
    (sources / "two.p4").rename(sources / "parts" / "two.p4")
    assert p4c.source_hash(sources) != before


def test_other_files_do_not_count(sources: Path) -> None:
    before = p4c.source_hash(sources)
    (sources / "README.md").write_text("words")
    assert p4c.source_hash(sources) == before


def test_a_stamp_says_what_artifacts_were_made_from(sources: Path) -> None:
    (sources / "one.json").write_text("{}")
    p4c.write_stamp(sources / "stamp.json", "1.2", ["one.json"])
    assert read_stamp(sources / "stamp.json") == {
        "sources_sha256": p4c.source_hash(sources),
        "p4c": "1.2",
        "artifacts_sha256": {"one.json": p4c.file_hash(sources / "one.json")},
    }


def _compiler(folder: Path, script: str) -> str:
    compiler = folder / "p4c"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    return str(compiler)


def test_it_runs_in_a_copy_of_the_sources(tmp_path: Path, sources: Path) -> None:
    compiler = _compiler(
        tmp_path,
        'echo "{ \\"a\\" : [1, 2], \\"files\\" : $(ls *.p4 parts/*.p4 | wc -l) }" > one.json; pwd > one.p4info.txt',
    )
    (sources / "parts").mkdir()
    (sources / "parts" / "three.p4").write_text("// nothing\n")
    p4c.compile_programs(compiler, sources, ["one"], tmp_path, time_limit_s=30)
    assert (tmp_path / "one.json").read_text() == '{"a":[1,2],"files":3}\n'
    assert (tmp_path / "one.p4info.txtpb").read_text().strip() != str(sources)


@pytest.mark.parametrize("script", ["echo 'one.p4(1): error: no' >&2; exit 1", "echo 'warning: error: no' >&2"])
def test_failing_compiler_is_reported(tmp_path: Path, sources: Path, script: str) -> None:
    with pytest.raises(p4c.BuildError, match="error: no"):
        p4c.compile_programs(_compiler(tmp_path, script), sources, ["one"], tmp_path, time_limit_s=30)


def test_endless_compiler_is_ended(tmp_path: Path, sources: Path) -> None:
    with pytest.raises(p4c.BuildError, match=r"not ended after 0.2 s"):
        p4c.compile_programs(_compiler(tmp_path, "exec sleep 60"), sources, ["one"], tmp_path, time_limit_s=0.2)


def test_sources_are_kept_where_traces_show_them(tmp_path: Path, sources: Path) -> None:
    place = '"source_info":{"filename":"one.p4","line":2,"column":3,"source_fragment":"f()"}'
    program = (
        f'{{"actions":[{{"name":"a",{place},"primitives":[{{"op":"assign",{place}}},{{"op":"drop"}}]}}],'
        f'"pipelines":[{{{place},"tables":[{{"name":"t",{place},"key":[{{{place}}}]}}],"conditionals":[]}}]}}'
    )
    script = f"echo '{program}' >one.json; : >one.p4info.txt"
    p4c.compile_programs(_compiler(tmp_path, script), sources, ["one"], tmp_path, time_limit_s=30)
    kept = {"filename": "one.p4", "line": 2, "source_fragment": "f()"}
    assert json.loads((tmp_path / "one.json").read_text()) == {
        "actions": [{"name": "a", "primitives": [{"op": "assign", "source_info": kept}, {"op": "drop"}]}],
        "pipelines": [{"tables": [{"name": "t", "key": [{}], "source_info": kept}], "conditionals": []}],
    }


def test_what_p4c_copies_is_kept_once() -> None:
    def action(number: int, name: str, value: str) -> dict[str, object]:
        return {"name": name, "id": number, "runtime_data": [], "primitives": [{"op": value}]}

    def table(name: str, *actions: dict[str, object]) -> dict[str, object]:
        names = [one["name"] for one in actions]
        return {
            "name": name,
            "key": [],
            "action_ids": [one["id"] for one in actions],
            "actions": names,
            "next_tables": dict.fromkeys(names, "next"),
            "default_entry": {"action_id": actions[0]["id"]},
        }

    names = [("1", "x"), ("1", "x"), ("1", "y"), ("2", "x"), ("3", "x"), ("4", "x")]
    made = [action(number, name, value) for number, (name, value) in enumerate(names)]
    one, again, other, shown, hidden, copied = made
    tables = [table("t", one, other, shown), table("u", again), table("tbl_3", hidden), table("tbl_4", copied)]
    calls = [{"action_id": again["id"]}]
    program = {"actions": made, "pipelines": [{"tables": tables, "action_calls": calls}]}
    found = p4c.shared(program)
    assert found["actions"] == [one, other, shown, hidden], "of what is shown, the names count"
    (pipeline,) = found["pipelines"]
    assert pipeline["tables"] == [
        table("t", one, other, shown),
        table("u", one),
        table("tbl_3", hidden),
        table("tbl_4", hidden),
    ]
    assert pipeline["action_calls"] == [{"action_id": one["id"]}]
    assert tables[1]["action_ids"] == [again["id"]], "as it was"
