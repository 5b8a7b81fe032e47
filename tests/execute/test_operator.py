import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.execute import run_op
from gradviz.ops import registry
from gradviz.ops.arguments import arg
from gradviz.proto import OperatorDef


def op(type, inputs, outputs, **args):
    made = OperatorDef(type=type, input=inputs, output=outputs)
    made.arg.extend(arg(name, value) for name, value in args.items())
    return made


@pytest.fixture
def custom():
    """A type of our own, forgotten after the test."""
    registered = []

    def register(kernel, type="MyOp", **facts):
        registry.operators()
        registry.operator(type, **facts)
        registry.kernel(type)(kernel)
        registered.append(type)

    yield register
    for type in registered:
        registry.unregister(type)


X = np.array([[-1, 2], [3, -4]], np.float32)


def test_arrays_in_arrays_out():
    (y,) = run_op(op("Relu", ["x"], ["y"]), [X])
    np.testing.assert_array_equal(y, [[0, 2], [3, 0]])
    assert y.dtype == np.float32


def test_a_message_of_another_protobuf_module_is_taken():
    class Foreign:
        def SerializeToString(self):
            return op("Relu", ["x"], ["y"]).SerializeToString()

    np.testing.assert_array_equal(run_op(Foreign(), [X])[0], [[0, 2], [3, 0]])


def test_answers_share_no_memory_with_inputs(custom):
    custom(lambda xp, x: (x, x.T, x[1:]))
    outputs = run_op(op("MyOp", ["x"], ["a", "b", "c"]), [X])
    assert not any(np.shares_memory(X, each) for each in outputs)


def test_only_named_arguments_reach_a_kernel(custom):
    seen = {}

    def kernel(xp, x, *, alpha=1.5, beta=2):
        seen.update(alpha=alpha, beta=beta)
        return x

    custom(kernel)
    run_op(op("MyOp", ["x"], ["y"], beta=7, gamma=9), [X])
    assert seen == {"alpha": 1.5, "beta": 7}


def test_all_arguments_reach_a_kernel_that_takes_all(custom):
    seen = {}
    custom(lambda xp, x, **args: (seen.update(args), x)[1])
    run_op(op("MyOp", ["x"], ["y"], beta=7, name="n"), [X])
    assert seen == {"beta": 7, "name": "n"}


def test_a_kernel_finds_its_surroundings(custom):
    def kernel(xp, *, ctx):
        assert ctx.op.type == "MyOp"
        assert ctx.backend == "numpy"
        return (ctx.random.random(ctx.outputs),) * ctx.outputs

    custom(kernel)
    first, second = run_op(op("MyOp", [], ["a", "b"]), [], seed=3)
    again = run_op(op("MyOp", [], ["a", "b"]), [], seed=3)
    other = run_op(op("MyOp", [], ["a", "b"]), [], seed=4)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, again[0])
    assert (first != other[0]).any()


def test_scalars_come_back_as_arrays_of_rank_0(custom):
    custom(lambda xp, x: x.sum())
    (y,) = run_op(op("MyOp", ["x"], ["y"]), [X])
    assert isinstance(y, np.ndarray)
    assert (y.shape, y.dtype) == ((), np.float32)


def test_what_is_no_tensor_is_handed_through(custom):
    custom(lambda xp, x: x)
    thing = object()
    assert run_op(op("MyOp", ["x"], ["y"]), [thing]) == [thing]


def test_text_becomes_an_object_array_of_bytes(custom):
    custom(lambda xp, x: x)
    (y,) = run_op(op("MyOp", ["x"], ["y"]), [np.array(["a", "ü"])])
    assert y.dtype == object
    assert list(y) == [b"a", "ü".encode()]


@pytest.mark.parametrize(
    ("definition", "inputs", "says"),
    [
        (op("Relux", ["x"], ["y"]), [X], "did you mean Relu"),
        (op("IterOp", ["x"], ["x"]), [X], "did you mean Iter"),
        (op("Relu", ["x", "z"], ["y"]), [X, X], "does not fit its schema"),
        (op("Relu", ["x"], ["y"]), [X, X], "given 2 values"),
        (op("Relu", ["x"], ["y"]), [X.astype(np.int32)], r"input 0 \(x\) is int32, but must be float32"),
        (op("Dropout", ["x"], ["y", "m"]), [X], "lacks the argument is_test"),
        (op("While", ["c"], ["c"]), [np.array([True])], "lacks the argument loop_net"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(definition, inputs, says):
    with pytest.raises(ExecutionError, match=says) as caught:
        run_op(definition, inputs)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(definition.type)


def test_arguments_in_conflict_are_refused():
    double = op("LeakyRelu", ["x"], ["y"], alpha=0.5)
    double.arg.append(arg("alpha", 0.25))
    with pytest.raises(ExecutionError, match="alpha stands twice"):
        run_op(double, [X])


def test_what_numpy_says_becomes_one_error_with_the_inputs(custom):
    custom(lambda xp, x, y: x @ y)
    with pytest.raises(ExecutionError, match=r"MyOp \(c\): .*inputs: a float32\[2, 2\], b float32\[3\]"):
        run_op(op("MyOp", ["a", "b"], ["c"]), [X, np.zeros(3, np.float32)])


def test_a_kernel_that_makes_too_little_is_caught(custom):
    custom(lambda xp, x: x)
    with pytest.raises(ExecutionError, match="made 1 outputs where 2 are wanted"):
        run_op(op("MyOp", ["x"], ["a", "b"]), [X])


def test_something_else_than_an_operator_is_a_type_error():
    with pytest.raises(TypeError):
        run_op("Relu", [X])
