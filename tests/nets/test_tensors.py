"""Arrays and TensorProto: every element type, each way of storage, pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gradviz import LoadError
from gradviz.nets import tensors
from gradviz.proto import TensorProto

DTYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool"]


def any_array(dtype):
    shapes = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    return arrays.arrays(dtype, shapes, elements=arrays.from_dtype(np.dtype(dtype), allow_nan=False))


@given(st.sampled_from(DTYPES).flatmap(any_array))
def test_every_array_comes_back_bit_for_bit(array):
    tensor = TensorProto.FromString(tensors.from_array(array, "w").SerializeToString())
    back = tensors.to_array(tensor)
    assert (tensor.name, back.dtype, back.shape) == ("w", array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("dtype", "kind", "field"),
    [
        ("float32", "FLOAT", "float_data"),
        ("float64", "DOUBLE", "double_data"),
        ("float16", "FLOAT16", "int32_data"),
        ("int64", "INT64", "int64_data"),
        ("int32", "INT32", "int32_data"),
        ("uint8", "UINT8", "int32_data"),
        ("bool", "BOOL", "int32_data"),
    ],
)
def test_values_stand_where_caffe2_looks_for_them(dtype, kind, field):
    tensor = tensors.from_array(np.array([1, 0], dtype))
    assert tensor.data_type == TensorProto.DataType.Value(kind)
    assert {each.name for each, _ in tensor.ListFields()} == {"dims", "data_type", field}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_and_infinities(dtype):
    array = np.array([np.nan, np.inf, -np.inf, -0.0], dtype)
    back = tensors.to_array(tensors.from_array(array))
    np.testing.assert_array_equal(back, array)
    assert (np.signbit(back) == np.signbit(array)).all()


def test_halves_are_kept_as_their_bits():
    assert list(tensors.from_array(np.array([1.0, -2.0], "float16")).int32_data) == [0x3C00, 0xC000]


def test_texts():
    tensor = tensors.from_array(np.array([["a", "é"], [b"\xff", ""]], object))
    assert tensors.to_array(tensor).tolist() == [[b"a", "é".encode()], [b"\xff", b""]]
    assert tensors.from_array("one").string_data == [b"one"]


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "uint8"])
def test_raw_storage(dtype):
    array = np.arange(6).astype(dtype).reshape(2, 3)
    tensor = tensors.from_array(array)
    raw = TensorProto(dims=[2, 3], data_type=tensor.data_type, storage_type="RAW", raw_data=array.tobytes())
    assert (tensors.to_array(raw) == array).all()
    assert tensors.to_array(raw).dtype == array.dtype


@pytest.mark.parametrize(
    ("kind", "dtype"), [("BYTE", "uint8"), ("UINT8", "uint8"), ("INT8", "int8"), ("FLOAT16", "float16")]
)
def test_narrow_types_may_stand_as_bytes(kind, dtype):
    array = np.array([1, 2, 120]).astype(dtype)
    tensor = TensorProto(dims=[3], data_type=kind, byte_data=array.tobytes())
    assert (tensors.to_array(tensor) == array).all()
    assert tensors.to_array(tensor).dtype == dtype


@pytest.mark.parametrize(
    ("tensor", "says"),
    [
        (TensorProto(dims=[3], float_data=[1]), "of shape [3] holds 1 value, not 3"),
        (TensorProto(dims=[-1], float_data=[1]), "impossible shape"),
        (TensorProto(dims=[2**40, 2**40]), "impossible shape"),
        (TensorProto(dims=[1] * 99, float_data=[1]), "impossible shape"),
        (TensorProto(data_type="UNDEFINED", name="w"), 'the tensor "w" has the element type 0'),
        (TensorProto(storage_type="EXTERNAL"), "stored outside the file"),
        (TensorProto(storage_type="RAW", raw_data=b"abc"), "3 bytes, no whole number"),
    ],
)
def test_what_holds_no_array_is_refused(tensor, says):
    with pytest.raises(LoadError) as raised:
        tensors.to_array(tensor)
    assert says in str(raised.value)


@pytest.mark.parametrize("array", [np.array([1j]), np.array([1], "uint64"), np.array([object()])])
def test_arrays_that_no_tensor_holds(array):
    with pytest.raises(TypeError, match="no tensor of the format holds"):
        tensors.from_array(array)


def pieces(array, *cuts):
    flat = array.ravel()
    found = []
    for begin, end in zip([0, *cuts], [*cuts, flat.size], strict=True):
        piece = tensors.from_array(flat[begin:end], "w")
        piece.dims[:] = array.shape
        piece.segment.begin, piece.segment.end = begin, end
        found.append(piece)
    return found


def test_pieces_are_joined_in_any_order():
    array = np.arange(24, dtype="float32").reshape(4, 6)
    whole = tensors.join(pieces(array, 5, 9)[::-1])
    assert (tensors.to_array(whole) == array).all()
    assert not whole.HasField("segment")
    assert tensors.to_array(tensors.join(pieces(np.zeros((0, 3), "float32")))).shape == (0, 3)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda found: found.pop(0), "nothing holds element 0"),
        (lambda found: found.pop(1), "nothing holds element 5"),
        (lambda found: found.pop(2), "nothing holds element 9"),
        (lambda found: found[1].dims.append(1), "do not agree"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(change, says):
    found = pieces(np.arange(24, dtype="float32").reshape(4, 6), 5, 9)
    change(found)
    with pytest.raises(LoadError, match=says):
        tensors.join(found)
