from pathlib import Path

from topologies.results.tail import Tail


def test_each_line_comes_once_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    tail = Tail(path)
    assert tail.take() == []
    with path.open("w") as file:
        file.write('{"t": 1}\n{"t": 2')
        file.flush()
        assert tail.take() == [{"t": 1}]
        assert tail.take() == []
        file.write("5}\n")
        file.flush()
        assert tail.take() == [{"t": 25}]


def test_what_is_no_object_is_left_out_and_a_new_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'nonsense\n[1]\n\xff\xfe\n{"t": 1}\n')
    tail = Tail(path)
    assert tail.take() == [{"t": 1}]
    path.write_text('{"t": 2}\n')
    assert tail.take() == [{"t": 2}]
