"""Nets: read, written and built."""

from gradviz.nets.builder import NetBuilder
from gradviz.nets.loading import load
from gradviz.nets.model import Model, SeveralNetsError, as_model, as_net
from gradviz.nets.saving import save

__all__ = ["Model", "NetBuilder", "SeveralNetsError", "as_model", "as_net", "load", "save"]
