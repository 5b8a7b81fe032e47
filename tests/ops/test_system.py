"""Counters, flags and checks that operators share."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from tests.ops.running import run


def test_counter_counts_both_ways():
    counter = run("CreateCounter", init_count=1)
    assert not run("CheckCounterDone", counter) and not run("CountDown", counter)
    assert run("CheckCounterDone", counter) and run("CountDown", counter)
    assert run("ResetCounter", counter, init_count=5) == -1
    up = run("CountUp", counter)
    assert up == 5 and up.dtype == np.int64 and up.shape == ()
    assert run("RetrieveCount", counter) == 6


def test_flag_stays_raised():
    flag = run("CreateAtomicBool")
    assert not run("CheckAtomicBool", flag)
    for condition in (True, False):
        run("ConditionalSetAtomicBool", flag, np.array(condition), outputs=0)
        assert run("CheckAtomicBool", flag)


def test_fetch_add_gives_sum_and_number_before():
    total, before = run("AtomicFetchAdd", run("CreateMutex"), np.array([3], "int32"), np.array([4], "int32"), outputs=2)
    assert (int(total), int(before)) == (7, 3) and total.dtype == np.int32


def test_summary_has_the_deviation_of_a_sample():
    assert run("Summarize", np.array([1, 3], "float32")) == pytest.approx([1, 3, 2, 2**0.5])
    with pytest.raises(ExecutionError, match="to_file"):
        run("Summarize", np.array([1, 3], "float32"), to_file=1)


@pytest.mark.parametrize("value", [[], [np.nan], [1e18]])
def test_statistics_refuse_what_overflows(value):
    with pytest.raises(ExecutionError):
        run("AveragePut", np.array(value), outputs=0, stat_name="s", magnitude_expand=1000)


def test_failing_on_purpose():
    with pytest.raises(ExecutionError, match="on purpose"):
        run("Fail", outputs=0)
