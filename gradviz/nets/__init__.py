"""Nets: read, written and built."""

from gradviz.nets.model import Model, SeveralNetsError, as_model, as_net

__all__ = ["Model", "SeveralNetsError", "as_model", "as_net"]
