"""Exported predictors: the classes of `metanet.proto`; their types stand in the stub beside this file."""

from gradviz.proto.pool import definitions

globals().update(definitions("metanet"))
