import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.execute.feeds import as_feed, parse_feeds
from gradviz.nets.tensors import from_array
from gradviz.proto import TensorProtos


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("x=8x1x28x28", (8, 1, 28, 28), "float32"),
        ("x=8:int32", (8,), "int32"),
        ("x=2x3:double", (2, 3), "float64"),
        ("x=scalar:int64", (), "int64"),
        ("x=", (), "float32"),
        ("x=0x3:bool", (0, 3), "bool"),
        ("x=4:uint8", (4,), "uint8"),
        ("gpu_0/x=3:float16", (3,), "float16"),
        ("x=3:string", (3,), "object"),
    ],
)
def test_shapes_are_filled(text, shape, dtype):
    ((name, value),) = parse_feeds([text]).items()
    assert name == text.partition("=")[0]
    assert value.shape == shape
    assert value.dtype == dtype


def test_a_seed_repeats_values_and_two_feeds_differ():
    first, again, other = (parse_feeds(["x=100", "y=100"], seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first["x"], again["x"])
    assert (first["x"] != other["x"]).any()
    assert (first["x"] != first["y"]).any()


def test_integers_are_small_and_not_negative():
    values = parse_feeds(["x=1000:int64"])["x"]
    assert values.min() == 0
    assert values.max() == 9


def test_files(tmp_path):
    x, y = np.arange(3, dtype=np.float32), np.array([[1, 2]], np.int64)
    np.savez(tmp_path / "all.npz", x=x, y=y)
    np.save(tmp_path / "one.npy", y)
    (tmp_path / "all.pb").write_bytes(TensorProtos(protos=[from_array(x, "x"), from_array(y, "y")]).SerializeToString())
    (tmp_path / "one.pb").write_bytes(from_array(x, "x").SerializeToString())
    for text in ("all.npz", "all.pb"):
        found = parse_feeds([str(tmp_path / text)])
        np.testing.assert_array_equal(found["x"], x)
        np.testing.assert_array_equal(found["y"], y)
        assert found["y"].dtype == np.int64
    np.testing.assert_array_equal(parse_feeds([f"z={tmp_path / 'one.npy'}"])["z"], y)
    np.testing.assert_array_equal(parse_feeds([str(tmp_path / "one.pb")])["x"], x)
    np.testing.assert_array_equal(parse_feeds([f"z={tmp_path / 'one.pb'}"])["z"], x)
    np.testing.assert_array_equal(parse_feeds([f"y={tmp_path / 'all.npz'}"])["y"], y)


def test_a_later_feed_replaces_an_earlier_one():
    assert parse_feeds(["x=3", "x=4"])["x"].shape == (4,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing", "no file and no name=shape"),
        ("x=3y4", "no file and no shape"),
        ("x=3:complex64", "no dtype complex64"),
        ("x=999999999999x999999999999", "no array of shape"),
        ("one.npy", "write NAME|Write name="),
        ("x=all.npz", "holds a, b, but no x"),
        ("broken.npz", "not an .npz file"),
        ("broken.pb", "no TensorProto"),
        ("x=broken.npy", "not a NumPy file"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(tmp_path, monkeypatch, text, says):
    monkeypatch.chdir(tmp_path)
    np.save("one.npy", np.ones(2))
    np.savez("all.npz", a=np.ones(2), b=np.ones(2))
    for name in ("broken.npz", "broken.pb", "broken.npy"):
        (tmp_path / name).write_bytes(b"\xff\xfe nothing of the kind")
    with pytest.raises(ExecutionError, match=says) as caught:
        parse_feeds([text])
    assert "\n" not in str(caught.value)


def test_pickles_are_never_read(tmp_path):
    np.savez(tmp_path / "p.npz", x=np.array([{}], object))
    with pytest.raises(ExecutionError):
        parse_feeds([str(tmp_path / "p.npz")])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, "float32"),
        ([1, 2], "int32"),
        ([2**40], "int64"),
        ([True], "bool"),
        ((1.0, 2), "float32"),
        (np.float64(1), "float64"),
        (np.ones(2), "float64"),
        (np.ones(2, ">f4"), "float32"),
        (from_array(np.ones(2, np.int16), "x"), "int16"),
    ],
)
def test_dtypes_of_what_is_handed_in(value, dtype):
    assert as_feed("x", value).dtype == np.dtype(dtype)


@pytest.mark.parametrize("value", [np.ones(2, np.complex64), np.ones(2, np.uint32), [[1, 2], [3]]])
def test_what_no_tensor_holds_is_refused(value):
    with pytest.raises(ExecutionError, match="feed x"):
        as_feed("x", value)
