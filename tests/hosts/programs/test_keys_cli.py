from pathlib import Path

from typer.testing import CliRunner

from hosts.programs.keyfile import public, read_keys, read_secret, read_seed
from hosts.programs.keys_cli import app
from hosts.security.keys import encoded
from hosts.security.link import Link, parse_link
from hosts.security.ticket import Ticket


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def test_a_group_s_keys_from_the_first_epoch_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "lecture.keys"
    code, output = run("new", "lecture", "-o", str(tmp_path))
    assert (code, str(path) in output) == (0, True)
    first = read_keys(path)
    assert first.newest[2:] not in output
    assert run("new", "lecture", "-o", str(tmp_path))[0] == 2
    code, output = run("roll", str(path))
    assert (code, "epoch 1, epoch 2" in output) == (0, True)
    assert read_keys(path).epochs[0] == first.epochs[0]


def test_what_cannot_be_is_one_line(tmp_path: Path) -> None:
    for arguments in (["new", "../x", "-o", str(tmp_path)], ["new", "x", "-o", str(tmp_path / "no")], ["roll", "no"]):
        code, output = run(*arguments)
        assert (code, len(output.splitlines())) == (2, 1), arguments


def test_certificates_of_a_control_plane_in_one_command(tmp_path: Path) -> None:
    code, output = run("ca", str(tmp_path / "tls"), "10.0.0.1", "10.0.0.2")
    assert (code, output.count(".pem")) == (0, 5)
    assert (tmp_path / "tls" / "10.0.0.2.key").exists()
    assert run("ca", str(tmp_path / "tls"), "10.0.0.1")[0] == 2
    assert run("ca", str(tmp_path / "other"), "controller")[0] == 2


def test_a_registrar_s_members_from_the_first_to_the_last(tmp_path: Path) -> None:
    folder, ticket = tmp_path / "lecture", tmp_path / "alice.ticket"
    where = ("--at", "10.0.0.1:7400", "--session", "239.1.1.1:5000")
    assert run("new", "lecture", "-o", str(tmp_path), *where)[0] == 0
    assert run("new", "lecture", "-o", str(tmp_path), *where)[0] == 2
    code, line = run("enroll", str(folder), "bob")
    assert (code, line.startswith("canopy://239.1.1.1:5000#bob:")) == (0, True)
    code, output = run("enroll", str(folder), "alice", "-o", str(ticket))
    assert (code, output) == (0, f"{ticket}\n")
    link = read_secret(ticket)
    assert isinstance(link, Link)
    assert isinstance(link.keys, Ticket)
    assert link.keys.name == "alice"
    assert run("enroll", str(folder), "alice", "-o", str(ticket))[0] == 2
    assert run("revoke", str(folder), "bob") == (0, "bob: expelled\n")
    assert run("roll", str(folder))[0] == 0
    assert run("members", str(folder)) == (0, "alice\tmember\nbob\texpelled\n")


def test_who_has_a_key_of_its_own_is_enrolled_by_its_public_part(tmp_path: Path) -> None:
    folder, key, ticket = tmp_path / "lecture", tmp_path / "own.key", tmp_path / "alice.ticket"
    assert run("new", "lecture", "-o", str(tmp_path), "--at", "10.0.0.1:7400")[0] == 0
    code, own = run("own", str(key))
    assert (code, own.strip()) == (0, encoded(public(read_seed(key))))
    assert run("own", str(key))[0] == 2
    code, line = run("enroll", str(folder), "alice", "--key", own.strip())
    assert code == 0
    assert run("accept", str(key), line.strip(), "-o", str(ticket)) == (0, f"{ticket}\n")
    link = read_secret(ticket)
    assert isinstance(link, Link)
    assert isinstance(link.keys, Ticket)
    assert link.keys.token == read_seed(key)
    assert link._replace(keys=link.keys._replace(token=b"")).text == line.strip()
    assert encoded(link.keys.token) not in (folder / "members.json").read_text()
    bearer = run("enroll", str(folder), "bob")[1].strip()
    assert run("accept", str(key), bearer, "-o", str(tmp_path / "bob"))[0] == 2
    assert run("enroll", str(folder), "eve", "--key", "short")[0] == 2


def test_what_a_registrar_s_command_cannot_do_is_one_line(tmp_path: Path) -> None:
    for arguments in (
        ["new", "x", "-o", str(tmp_path), "--at", "10.0.0.1"],
        ["new", "x", "-o", str(tmp_path), "--at", "10.0.0.1:1", "--session", "10.1"],
        ["new", "x", "-o", str(tmp_path), "--session", "239.1.1.1:5000"],
        *(["enroll", str(tmp_path), "x"], ["revoke", str(tmp_path), "x"], ["members", str(tmp_path)]),
        ["serve", str(tmp_path)],
    ):
        code, output = run(*arguments)
        assert (code, len(output.splitlines())) == (2, 1), (arguments, output)


def test_what_a_sender_signs_with_is_a_file_of_its_own(tmp_path: Path) -> None:
    assert run("new", "lecture", "-o", str(tmp_path), "--signed")[0] == 0
    seed = read_seed(tmp_path / "lecture.sign")
    assert read_keys(tmp_path / "lecture.keys").signer == public(seed)
    assert run("roll", str(tmp_path / "lecture.keys"))[0] == 0
    assert read_keys(tmp_path / "lecture.keys").signer == public(seed)
    folder = tmp_path / "course"
    assert run("new", "course", "-o", str(tmp_path), "--signed", "--at", "10.0.0.1:7400")[0] == 0
    link = parse_link(run("enroll", str(folder), "alice")[1])
    assert isinstance(link.keys, Ticket)
    assert link.keys.signer == public(read_seed(tmp_path / "course.sign"))
    (tmp_path / "lecture.sign").write_text("short")
    assert run("new", "lecture", "-o", str(tmp_path), "--signed")[0] == 2
