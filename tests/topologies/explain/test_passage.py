from topologies.explain.passage import read_passage

TEXT = """\
Processing packet of 1474 bytes received on port 1
Parser entering state 'ipv4'
    header 'ethernet' is valid: source 0x2000a000001
    header 'ipv4' is valid: ttl 0x40, checksum 0x4336, source 0xa000001, destination 0xe8010001
Applying table 'route_sg'
Table 'route_sg': hit with handle 7
Action canopy_ingress.set_source_route(0, 1, 1)
Action group_data17()
    register membership[0] is read
    scalars.members = 6 (was 0)
    assist_feedback_other.port = 0x10 (was 0)
    register feedback_sessions[1] = 0x10
    ipv4.checksum = 0x4436 (was 0x4336)
    ipv4.ttl = 0x3f (was 0x40)
    ethernet.source = 0x20100000001 (was 0x2000a000001)
    counter feedback[2] counts
Multicast group 6: 2 copies
"""


def test_an_account_says_what_the_program_did() -> None:
    passage = read_passage(TEXT)
    assert passage.headers["ipv4"]["source"] == 0x0A000001
    assert passage.tables == ["route_sg hit entry 7: set_source_route(0, 1, 1)"]
    assert passage.written == ["feedback_sessions[1] = 0x10"]
    assert passage.read == ["membership[0]"]
    assert passage.counted == [("feedback", 2)]
    assert passage.changes == ["ipv4.ttl 64 → 63", "ethernet.source 02:00:0a:00:00:01 → 02:01:00:00:00:01"]
    assert passage.ends == ["Multicast group 6: 2 copies"]


def test_values_of_more_digits_than_one_reads_are_shortened() -> None:
    long, word = "0x" + "0123456789abcdef" * 4, "0x0123456789abcdef"
    passage = read_passage(f"    register sacks[1] = {long}\n    register sent[2] = {word}\n")
    assert passage.written == ["sacks[1] = 0x012345…abcdef (64 digits)", f"sent[2] = {word}"]
