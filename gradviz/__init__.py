"""gradviz: a debugger for gradient generation in Caffe2 nets."""

__version__ = "0.1.0"
