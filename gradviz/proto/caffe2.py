"""Nets, operators, tensors, plans: the classes of `caffe2.proto`; their types stand in the stub beside this file."""

from gradviz.proto.pool import definitions

globals().update(definitions("caffe2"))
