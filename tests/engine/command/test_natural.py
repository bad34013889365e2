from engine.command.natural import natural


def test_numbers_in_names_count_as_numbers() -> None:
    assert sorted(["st10", "st2", "a", "st1", "st", "2"], key=natural) == ["a", "st", "st1", "st2", "st10", "2"]
