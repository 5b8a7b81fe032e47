"""RecurrentNetwork against the same mathematics unrolled into plain operators, forward and backward."""

import numpy as np
import pytest

from gradviz.autodiff import trace
from gradviz.errors import ExecutionError
from gradviz.execute import check_gradients, run
from gradviz.nets import NetBuilder
from gradviz.proto import NetDef

STEPS, BATCH, SIZE = 4, 2, 3


def step():
    """h = tanh(w * h_prev + x)."""
    net = NetBuilder("step", inputs=["x_t", "h_prev", "w"], outputs=["h_t"])
    net.add("Mul", ["h_prev", "w"], "scaled", broadcast=1)
    net.add("Add", ["scaled", "x_t"], "sum")
    net.add("Tanh", "sum", "h_t")
    return net.net


def backward():
    walked = trace(step(), {"h_t": "h_t_grad"})
    return NetDef(name="backward", op=walked.gradient_ops), walked.input_to_grad


def recurrent(outputs_with_grads=(0,), **changes):
    """The step over time, and the sum of squares of all states, or of the last one."""
    net = NetBuilder("rnn", inputs=["x", "h0", "w"])
    back, grads = backward()
    args = {
        "recurrent_states": ["states"],
        "initial_recurrent_state_ids": [1],
        "link_internal": ["h_prev", "h_t", "x_t"],
        "link_external": ["states", "states", "x"],
        "link_offset": [0, 1, 0],
        "alias_src": ["states", "states"],
        "alias_dst": ["all", "last"],
        "alias_offset": [1, -1],
        "timestep": "t",
        "step_net": step(),
        "param": [2],
        "param_grads": [grads["w"]],
        "backward_step_net": back,
        "backward_link_internal": ["h_t_grad", grads["h_prev"], grads["x_t"]],
        "backward_link_external": ["states_grad", "states_grad", "x_grad"],
        "backward_link_offset": [1, 0, 0],
        "outputs_with_grads": list(outputs_with_grads),
        **changes,
    }
    net.add("RecurrentNetwork", ["x", "h0", "w"], ["all", "last", "kept"], **args)
    for i in outputs_with_grads:
        net.add("Sqr", ["all", "last"][i], f"squares{i}")
        net.add("SumElements", f"squares{i}", f"loss{i}")
    if len(outputs_with_grads) > 1:
        net.add("Sum", [f"loss{i}" for i in outputs_with_grads], "loss")
    return net.net, ["loss"] if len(outputs_with_grads) > 1 else [f"loss{outputs_with_grads[0]}"]


def unrolled(outputs_with_grads=(0,)):
    net = NetBuilder("unrolled", inputs=["x", "h0", "w"])
    net.add("Split", "x", [f"x{t}" for t in range(STEPS)], axis=0)
    state = "h0"
    for t in range(STEPS):
        net.add("Mul", [state, "w"], f"scaled{t}", broadcast=1)
        net.add("Add", [f"scaled{t}", f"x{t}"], f"sum{t}")
        state = net.add("Tanh", f"sum{t}", f"h{t + 1}")
    net.add("Concat", [f"h{t + 1}" for t in range(STEPS)], ["all", "all_split"], axis=0)
    for i in outputs_with_grads:
        net.add("Sqr", ["all", state][i], f"squares{i}")
        net.add("SumElements", f"squares{i}", f"loss{i}")
    if len(outputs_with_grads) > 1:
        net.add("Sum", [f"loss{i}" for i in outputs_with_grads], "loss")
    return net.net, ["loss"] if len(outputs_with_grads) > 1 else [f"loss{outputs_with_grads[0]}"]


def feeds(initial=(1, BATCH, SIZE)):
    random = np.random.default_rng(1)
    shapes = {"x": (STEPS, BATCH, SIZE), "h0": initial, "w": (SIZE,)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
def test_values_and_gradients_are_those_of_the_unrolled_net(which):
    net, ys = recurrent(which)
    plain, plain_ys = unrolled(which)
    got, wanted = run(net, feeds(), ys=ys), run(plain, feeds(), ys=plain_ys)
    np.testing.assert_allclose(got["all"], wanted["all"], rtol=1e-6)
    np.testing.assert_allclose(got["last"], wanted[f"h{STEPS}"], rtol=1e-6)
    for blob in ("x", "h0", "w"):
        np.testing.assert_allclose(got.gradient(blob), wanted.gradient(blob), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
def test_gradients_are_the_derivatives(which):
    net, ys = recurrent(which)
    assert check_gradients(net, feeds(), ys).ok


@pytest.mark.parametrize("shape", [(BATCH, SIZE), (SIZE,)])
def test_an_initial_state_may_have_fewer_dimensions(shape):
    net, ys = recurrent()
    report = check_gradients(net, feeds(shape), ys)
    assert report.ok
    assert run(net, feeds(shape), ys=ys).gradient("h0").shape == shape


def test_states_are_made_beside_the_outputs():
    net, ys = recurrent()
    workspace = run(net, feeds(), ys=ys)
    states, gradients = workspace["states"], workspace["states_grad"]
    np.testing.assert_array_equal(states[:1], feeds()["h0"])
    np.testing.assert_array_equal(states[1:], workspace["all"])
    np.testing.assert_array_equal(gradients[0], workspace.gradient("h0")[0])
    assert [write.blob for write in workspace.hidden_writes] == ["states", "states_grad"]


def test_outputs_share_memory_with_the_states():
    net, _ = recurrent()
    for name in ("last",):
        net.op.add(type="Scale", input=[name], output=[name]).arg.add(name="scale", f=3.0)
    workspace = run(net, feeds(), ys=())
    np.testing.assert_allclose(workspace["last"], 3 * workspace.value("last", 1))
    np.testing.assert_array_equal(workspace["all"][-1:], workspace["last"])
    np.testing.assert_array_equal(workspace["states"][-1:], workspace["last"])
    np.testing.assert_allclose(workspace.value("all", 1)[-1:], workspace.value("last", 1))


def test_without_gradient_net_one_frame_serves_all_steps():
    net, _ = recurrent()
    with_gradient = run(net, feeds(), ys=())
    kept = [argument for argument in net.op[0].arg if not argument.name.startswith("backward")]
    del net.op[0].arg[:]
    net.op[0].arg.extend(kept)
    without = run(net, feeds(), ys=())
    np.testing.assert_array_equal(with_gradient["all"], without["all"])
    assert (len(with_gradient.value("kept").frames), len(without.value("kept").frames)) == (STEPS, 1)


def test_no_steps_leave_the_initial_state():
    net, _ = recurrent()
    workspace = run(net, {**feeds(), "x": np.zeros((0, BATCH, SIZE), np.float32)}, ys=())
    assert workspace["all"].shape == (0, BATCH, SIZE)
    np.testing.assert_array_equal(workspace["last"], feeds()["h0"])


@pytest.mark.parametrize(
    ("changes", "fed", "says"),
    [
        ({}, {"h0": np.zeros((1, 5, SIZE), np.float32)}, "for a batch of 5, not of 2"),
        ({}, {"h0": np.zeros((1, 1, 1, 1), np.float32)}, "1 to 3 dimensions"),
        ({}, {"x": np.zeros(3, np.float32)}, r"must have the shape \(steps, batch"),
        ({"link_offset": [0, 1]}, {}, "differ in length"),
    ],
)
def test_what_does_not_fit_is_refused(changes, fed, says):
    net, _ = recurrent(**changes)
    with pytest.raises(ExecutionError, match=says):
        run(net, {**feeds(), **fed}, ys=())


def test_the_gradient_wants_what_the_forward_run_left():
    net, ys = recurrent()
    made = trace(net, ys).net_with_gradients()
    made.op[-1].input[-1] = "x"
    with pytest.raises(ExecutionError, match="its last input x must be what the forward operator left"):
        run(made, feeds(), ys=())
