"""Pipeline configs as a bare gRPC client sets and reads them."""

import grpc
import pytest
from finsy.proto import p4r

from tests.engine.entities import action, config, frame, id_of, multicast_group, table_entry
from tests.engine.served import Controller, Served, refused_with, status_of

Config = p4r.SetForwardingPipelineConfigRequest
Get = p4r.GetForwardingPipelineConfigRequest
L2 = table_entry("l2", {"dst": 1}, action("forward", port=3))


def test_without_a_pipeline(controller: Controller) -> None:
    controller.arbitrate(1)
    assert not controller.get_config().HasField("config")
    for call in (lambda: controller.insert(L2), lambda: controller.read(p4r.TableEntry())):
        with pytest.raises(grpc.RpcError, match="No forwarding pipeline config") as caught:
            call()
        assert status_of(caught.value) == grpc.StatusCode.FAILED_PRECONDITION


def test_a_committed_config_is_read_back(controller: Controller) -> None:
    controller.arbitrate(1)
    pushed = config(cookie=77)
    controller.set_config(Config.VERIFY_AND_COMMIT, pushed)
    assert controller.get_config().config == pushed
    assert controller.get_config(Get.COOKIE_ONLY).config == p4r.ForwardingPipelineConfig(cookie=pushed.cookie)
    with_info = p4r.ForwardingPipelineConfig(p4info=pushed.p4info, cookie=pushed.cookie)
    assert controller.get_config(Get.P4INFO_AND_COOKIE).config == with_info
    with_device = p4r.ForwardingPipelineConfig(p4_device_config=pushed.p4_device_config, cookie=pushed.cookie)
    assert controller.get_config(Get.DEVICE_CONFIG_AND_COOKIE).config == with_device


def test_a_response_type_that_there_is_not_is_refused(primary: Controller) -> None:
    with refused_with(grpc.StatusCode.INVALID_ARGUMENT):
        primary.get_config(9)  # type: ignore[arg-type]


def test_a_config_without_cookie_is_answered_without(primary: Controller) -> None:
    response = primary.get_config(Get.COOKIE_ONLY)
    assert response.HasField("config")
    assert not response.config.HasField("cookie")


def test_verify_changes_nothing(served: Served, primary: Controller) -> None:
    primary.insert(L2)
    primary.set_config(Config.VERIFY, config(cookie=5))
    assert not primary.get_config().config.HasField("cookie")
    assert served.path.process(1, frame(1))[0][0] == 3
    bad = config()
    bad.p4info.tables[0].preamble.name = "elsewhere"
    for kind in (Config.VERIFY, Config.VERIFY_AND_SAVE, Config.VERIFY_AND_COMMIT, Config.RECONCILE_AND_COMMIT):
        with pytest.raises(grpc.RpcError, match="'elsewhere' is not in the device config"):
            primary.set_config(kind, bad)
    assert served.path.process(1, frame(1))[0][0] == 3


def test_commit_clears_the_forwarding_state(served: Served, primary: Controller) -> None:
    primary.insert(L2, multicast_group(1, (1, 0)), p4r.DigestEntry(digest_id=id_of("learned_t")))
    primary.push()
    assert served.path.process(1, frame(1)) == []
    assert primary.read(p4r.MulticastGroupEntry(), p4r.DigestEntry()) == []


def test_a_saved_config_takes_writes_and_forwards_once_committed(served: Served, primary: Controller) -> None:
    primary.insert(L2)
    primary.set_config(Config.VERIFY_AND_SAVE, config(cookie=2))
    assert served.path.process(1, frame(1))[0][0] == 3, "the old one forwards"
    assert primary.read(p4r.TableEntry(table_id=id_of("l2"))) == [], "reads refer to the new one"
    primary.insert(table_entry("l2", {"dst": 1}, action("forward", port=4)))
    assert served.path.process(1, frame(1))[0][0] == 3
    assert primary.get_config(Get.COOKIE_ONLY).config.cookie.cookie == 2
    primary.set_config(Config.COMMIT)
    assert served.path.process(1, frame(1))[0][0] == 4
    with refused_with(grpc.StatusCode.NOT_FOUND):
        primary.set_config(Config.COMMIT)


def test_refused_config_requests(primary: Controller) -> None:
    with refused_with(grpc.StatusCode.NOT_FOUND):
        primary.set_config(Config.COMMIT)
    for kind in (Config.VERIFY, Config.VERIFY_AND_SAVE, Config.VERIFY_AND_COMMIT, Config.RECONCILE_AND_COMMIT):
        with refused_with(grpc.StatusCode.INVALID_ARGUMENT):
            primary.set_config(kind)
    for kind, given in ((Config.COMMIT, config()), (Config.UNSPECIFIED, config())):
        with refused_with(grpc.StatusCode.INVALID_ARGUMENT):
            primary.set_config(kind, given)


def test_reconcile_keeps_the_state(served: Served, primary: Controller) -> None:
    primary.insert(L2, multicast_group(1, (1, 0)))
    primary.set_config(Config.RECONCILE_AND_COMMIT, config(cookie=3))
    assert served.path.process(1, frame(1))[0][0] == 3
    assert len(primary.read(p4r.MulticastGroupEntry())) == 1
    assert primary.get_config(Get.COOKIE_ONLY).config.cookie.cookie == 3
