"""Arrays of text."""

from gradviz.ops.registry import SHOULD_NOT, operator

operator("StringEndsWith", inputs=1, outputs=1, args="suffix", gradient=SHOULD_NOT)
operator("StringEquals", inputs=1, outputs=1, args="text", gradient=SHOULD_NOT)
operator("StringJoin", inputs=1, outputs=1, args="delimiter axis", gradient=SHOULD_NOT)
operator("StringPrefix", inputs=1, outputs=1, args="length", gradient=SHOULD_NOT)
operator("StringStartsWith", inputs=1, outputs=1, args="prefix", gradient=SHOULD_NOT)
operator("StringSuffix", inputs=1, outputs=1, args="length", gradient=SHOULD_NOT)
