"""What a file is, its content decides; what is accepted although it is odd is said once."""

import codecs
import json

import pytest

import gradviz
from gradviz.nets import SeveralNetsError, load
from gradviz.nets.saving import to_bytes
from gradviz.proto import MetaNetDef, NetDef, PlanDef
from tests.nets.making import as_text, lamp, lamp_init

TEXT, BINARY = as_text(lamp()).encode(), lamp().SerializeToString()


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "format", "notices"),
    [
        ("a.pb", BINARY, "binary", []),
        ("a.pbtxt", TEXT, "text", []),
        ("a", BINARY, "binary", []),
        ("a.pb", TEXT, "text", [".pb, but it is text"]),
        ("a.pbtxt", BINARY, "binary", [".pbtxt, but it is binary"]),
        ("a.pb", b"\n" + TEXT, "text", [".pb, but it is text"]),
        ("a.pbtxt", codecs.BOM_UTF8 + TEXT, "text", ["byte order mark"]),
        ("a.pbtxt", TEXT.replace(b"\n", b"\r\n"), "text", []),
        ("a.pbtxt", b"# by hand\r" + TEXT.replace(b"\n", b"\r"), "text", []),
        ("a.pbtxt", TEXT.decode().encode("utf-16"), "text", ["UTF-16"]),
        ("a.pbtxt", TEXT.decode().encode("utf-16-be"), "text", ["UTF-16"]),
        ("a.pbtxt", "# grün\n".encode("latin-1") + TEXT, "text", ["Latin-1"]),
    ],
)
def test_a_net_is_read_by_its_content(tmp_path, name, content, format, notices):
    model = gradviz.load(written(tmp_path, name, content))
    assert model.net == lamp()
    assert model.format == format
    assert len(model.notices) == len(notices)
    assert all(words in notice for words, notice in zip(notices, model.notices, strict=True))


def test_a_model_knows_where_it_came_from(tmp_path):
    model = load(str(written(tmp_path, "a.pb", BINARY)))
    assert (model.path, model.name, model.init, model.init_path) == (tmp_path / "a.pb", "lamp", None, None)
    nameless = lamp()
    nameless.ClearField("name")
    assert load(written(tmp_path, "b.pb", nameless.SerializeToString())).name == "b"


@pytest.mark.parametrize("content", [b'name: "bare"', NetDef(name="bare").SerializeToString()])
def test_a_net_without_operators_opens_with_a_notice(tmp_path, content):
    model = load(written(tmp_path, "bare", content))
    assert model.net == NetDef(name="bare")
    assert model.notices == ["the net has no operators"]


@pytest.mark.parametrize(
    ("net", "init"),
    [
        ("predict_net.pb", "init_net.pb"),
        ("exec_net.pb", "init_net.pb"),
        ("x_predict_net.pb", "x_init_net.pb"),
        ("x_predict_net_77.pb", "x_init_net_77.pb"),
        ("x_pred_net.pbtxt", "x_init_net.pbtxt"),
        ("x_predict.pb", "x_init.pb"),
        ("x.pb", "x_init.pb"),
        ("x.pb", "x_init_net.pbtxt"),
        ("x_net.pbtxt", "x_init.pbtxt"),
        ("train_net.pbtxt", "train_init_net.pbtxt"),
        ("test_net.pb", "test_init_net.pb"),
        ("model.pb", "model_init.pb"),
    ],
)
def test_the_init_net_beside_it_is_found(tmp_path, net, init):
    written(tmp_path, init, to_bytes(lamp_init(), text=init.endswith("txt")))
    model = load(written(tmp_path, net, to_bytes(lamp(), text=net.endswith("txt"))))
    assert model.init == lamp_init()
    assert model.init_path == tmp_path / init
    assert model.notices == []


def test_a_file_of_the_same_format_goes_first(tmp_path):
    other = lamp_init()
    other.name = "other"
    written(tmp_path, "x_init.pbtxt", as_text(other).encode())
    written(tmp_path, "x_init.pb", lamp_init().SerializeToString())
    assert load(written(tmp_path, "x.pb", BINARY)).init == lamp_init()
    assert load(written(tmp_path, "x.pbtxt", TEXT)).init == other


def test_what_lies_beside_is_taken_only_if_it_serves(tmp_path):
    stranger = lamp_init()
    for op in stranger.op:
        op.output[0] = "other_" + op.output[0]
    written(tmp_path, "x_init.pb", stranger.SerializeToString())
    model = load(written(tmp_path, "x.pb", BINARY))
    assert (model.init, model.notices) == (None, [])


def test_a_broken_file_beside_it_does_not_stop_the_net(tmp_path):
    written(tmp_path, "x_init.pb", lamp_init().SerializeToString()[:-2])
    model = load(written(tmp_path, "x.pb", BINARY))
    assert model.init is None
    assert "x_init.pb is cut short" in model.notices[0]


def test_an_init_net_may_be_given_in_any_form(tmp_path):
    net = written(tmp_path, "x.pb", BINARY)
    path = written(tmp_path, "weights.pb", lamp_init().SerializeToString())
    assert load(net, init=path).init_path == path
    for given in (path, str(path), lamp_init(), load(path)):
        assert load(net, init=given).init == lamp_init()


def test_an_init_net_in_place_of_the_net_is_said(tmp_path):
    init = written(tmp_path, "init_net.pb", lamp_init().SerializeToString())
    assert "looks like an init net" in load(init).notices[0]
    net = written(tmp_path, "predict_net.pb", BINARY)
    assert f"open {net} with it" in load(init).notices[0]
    assert "exchanged" in load(init, init=net).notices[0]


def test_an_init_net_that_fills_nothing_of_the_net_is_said(tmp_path):
    net = written(tmp_path, "x.pb", BINARY)
    assert "may not belong together" in load(net, init=lamp()).notices[0]


def two_nets():
    plan = PlanDef(name="night", network=[lamp_init(), lamp(), lamp()])
    plan.network[2].name = "second"
    plan.execution_step.add(name="once", network=["lamp_init"])
    plan.execution_step.add(name="often", network=["lamp"], num_iter=3)
    return plan


@pytest.mark.parametrize("text", [True, False])
def test_a_plan_asks_which_net_is_meant(tmp_path, text):
    content = as_text(two_nets()).encode() if text else two_nets().SerializeToString()
    path = written(tmp_path, "plan.pbtxt" if text else "plan.pb", content)
    with pytest.raises(
        SeveralNetsError, match=r"plan of 3 nets: .*lamp \(2 operators\), second \(2 operators\)"
    ) as raised:
        load(path)
    assert raised.value.names == ["lamp", "second"]
    with pytest.raises(gradviz.LoadError, match='none is called "sekond": there is second'):
        load(path, net="sekond")
    model = load(path, net="second")
    assert (model.name, model.format) == ("second", "plan text" if text else "plan binary")
    assert model.init == lamp_init(), "the nets of the plan that only fill blobs"
    assert "plan of 3 nets and 2 execution steps" in model.notices[0]


def test_a_plan_with_one_net_opens_it(tmp_path):
    plan = PlanDef(network=[lamp_init(), lamp()])
    assert load(written(tmp_path, "p", plan.SerializeToString())).net == lamp()


def export():
    meta = MetaNetDef()
    meta.blobs.add(key="INPUTS_BLOB_TYPE", value=["dusk"])
    meta.blobs.add(key="OUTPUTS_BLOB_TYPE", value=["glow"])
    for key, net in (("PREDICT_INIT_NET_TYPE", lamp_init()), ("PREDICT_NET_TYPE", lamp()), ("TRAIN_NET_TYPE", lamp())):
        meta.nets.add(key=key).value.CopyFrom(net)
    meta.nets[2].value.name = "train"
    return meta


@pytest.mark.parametrize("text", [True, False])
def test_a_predictor_export_opens_its_predict_net(tmp_path, text):
    path = written(
        tmp_path, "e.pbtxt" if text else "e.pb", as_text(export()).encode() if text else export().SerializeToString()
    )
    model = load(path)
    assert (model.net, model.init, model.inputs, model.outputs) == (lamp(), lamp_init(), ["dusk"], ["glow"])
    assert model.format == ("metanet text" if text else "metanet binary")
    assert load(path, net="TRAIN_NET_TYPE").name == load(path, net="train").name == "train"
    with pytest.raises(gradviz.LoadError, match="none is called"):
        load(path, net="tiny")


@pytest.mark.parametrize("text", [True, False])
def test_a_single_operator_opens_as_a_net(tmp_path, text):
    op = lamp().op[0]
    path = written(tmp_path, "op", as_text(op).encode() if text else op.SerializeToString())
    model = load(path)
    assert list(model.net.op) == [op]
    assert list(model.net.external_input) == ["dusk", "w", "b"]
    assert model.format == ("operator text" if text else "operator binary")
    assert "single operator" in model.notices[0]


def test_choosing_a_net_of_a_file_that_holds_one(tmp_path):
    path = written(tmp_path, "x.pb", BINARY)
    assert load(path, net="lamp").net == lamp()
    with pytest.raises(gradviz.LoadError, match='one net, called "lamp"'):
        load(path, net="porch")


def test_progress_is_told_and_changes_nothing(tmp_path):
    long = lamp()
    for index in range(1000):
        long.op.add(type="Copy", input=[f"b{index}"], output=[f"b{index + 1}"])
    path = written(tmp_path, "long.pbtxt", as_text(long).encode())
    told = []
    assert load(path, progress=lambda done, total: told.append((done, total))).net == long
    total = path.stat().st_size
    assert told == sorted(told)
    assert len(told) > 4
    assert (told[0], told[-1]) == ((0, total), (total, total))


@pytest.mark.parametrize("twice", ['name: "a"\n', "num_workers: 1\n"])
def test_progress_refuses_what_a_plain_reading_refuses(tmp_path, twice):
    path = written(tmp_path, "x.pbtxt", (twice + 'op {\n  type: "A"\n}\n' * 300 + twice).encode())
    messages = []
    for progress in (None, lambda done, total: None):
        with pytest.raises(gradviz.LoadError) as raised:
            load(path, progress=progress)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


@pytest.mark.shared
def test_every_public_file_that_parses_opens(shared):
    unlike = []
    for manifest in sorted((shared / "nets").glob("*/manifest.json")):
        for entry in json.loads(manifest.read_text(encoding="utf-8")).get("nets", ()):
            model = load(manifest.with_name(entry["file"]))
            facts = {"format": model.format, "name": model.net.name, "ops": len(model.net.op)}
            facts["fill_only"] = any("looks like an init net" in notice for notice in model.notices)
            facts["init_net"] = model.init_path.name if model.init_path else None
            wanted = {key: entry.get(key) for key in facts}
            wanted["init_net"] = (entry.get("init_net") or {}).get("file")
            if facts != wanted:
                unlike.append((entry["file"], facts, wanted))
    assert unlike == []


@pytest.mark.shared
def test_every_recorded_operator_opens(shared):
    paths = sorted((shared / "nets" / "pytorch-serialized-ops").glob("*/*.pbtxt"))
    assert len(paths) > 100
    assert all(load(path).net.op for path in paths)
