import numpy as np

from gradviz.execute.scope import MISSING, Frame, SliceSlot, Slot


def test_names_are_seen_through_frames():
    outer = Frame()
    outer.fill([("x", 1)])
    inner = Frame(outer)
    assert inner.get("x") == 1
    assert inner.get("y") is MISSING
    inner.reach("x").value = 2
    assert outer.get("x") == 2
    inner.reach("y").value = 3
    assert outer.get("y") is MISSING
    assert dict(inner.values()) == {"y": 3}


def test_a_detached_slice_slot_is_a_slot_like_any_other():
    slot = SliceSlot(5)
    assert slot.value == 5
    slot.value = 6
    assert slot.value == 6


def test_a_write_to_a_slice_reaches_the_array_and_leaves_kept_values_alone():
    whole = Slot(np.zeros((3, 2)))
    kept = whole.value
    last = SliceSlot().attach(whole, slice(2, None))
    last.value = np.ones((1, 2))
    np.testing.assert_array_equal(whole.value, [[0, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(kept, np.zeros((3, 2)))


def test_an_array_of_its_own_is_written_in_place_and_read_as_copies():
    whole = Slot(np.zeros((2, 2)))
    array = whole.value
    first = SliceSlot().attach(whole, slice(0, 1), own=True)
    read = first.value
    first.value = np.full((1, 2), 7.0)
    assert whole.value is array
    assert array[0, 0] == 7
    assert read[0, 0] == 0


def test_a_slice_is_read_in_the_shape_in_which_it_was_written():
    whole = Slot(np.zeros((2, 3)))
    first = SliceSlot().attach(whole, slice(0, 1), own=True)
    first.value = np.arange(3.0)
    assert first.value.shape == (3,)
    np.testing.assert_array_equal(whole.value[0], [0, 1, 2])


def test_a_value_of_another_size_detaches():
    whole = Slot(np.zeros((2, 3)))
    first = SliceSlot().attach(whole, slice(0, 1))
    first.value = np.arange(5.0)
    assert first.value.shape == (5,)
    assert whole.value.shape == (2, 3)
