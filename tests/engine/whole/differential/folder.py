"""Programs of p4c's own samples for which both switches differ with reason."""

_LEFT_OUT = "its P4Info has unused parameters that p4c has left out of the JSON, which is refused here"
_INVALID = "it reads fields of headers that may be invalid"

EXPECTED_DIFFERENCES = {
    # P4_14
    "acl1": _LEFT_OUT,
    "axon": _INVALID,
    "exact_match_mask1": "BMv2 masks the values of entries where the program masks a key",
    "instruct5": _INVALID,
    "issue846": _LEFT_OUT,
    "meter1": _LEFT_OUT,
    "sai_p4": _LEFT_OUT,
    "source_routing": _INVALID,
    "test_config_23_same_container_modified": _LEFT_OUT,
    # P4_16
    "extract_for_header_union": "p4c writes a JSON whose header is of a union's type, which is refused here",
    "gauntlet_nested_switch-bmv2": "its P4Info has a table that p4c has left out of the JSON, which is refused here",
    "init-entries-bmv2": "PI takes all entries of a table that the program has filled for constant",
    "issue1062-1-bmv2": "a key of type error has no width in the P4Info, and PI cannot have entries of it",
    "issue1517-bmv2": "it draws random numbers",
    "issue2283_1-bmv2": "a type that is translated to strings is refused here",
    "issue430-1-bmv2": "PI cannot enable its digest",
    "v1model-p4runtime-enumint-types1": "PI cuts off what does not fit a translated type, which is refused here",
    "v1model-p4runtime-most-types1": "PI cuts off what does not fit a translated type, which is refused here",
}
