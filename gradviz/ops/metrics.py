"""Measures of quality that are not differentiated."""

from gradviz.ops.registry import SHOULD_NOT, operator

operator("Accuracy", inputs=2, outputs=1, args="top_k", gradient=SHOULD_NOT)
operator("MultiClassAccuracy", inputs=2, outputs=2, gradient=SHOULD_NOT)
operator("APMeter", inputs=2, outputs=1, args="buffer_size", gradient=SHOULD_NOT)
