"""Compile the `.proto` texts beside this file: `python gradviz/proto/compile.py`.

Writes `descriptors.bin` (a serialized FileDescriptorSet: all that the package needs when it runs) and one type stub a
file. Only who changes a `.proto` runs it; it needs `grpcio-tools` from the `dev` extra, which brings protoc along.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

FILES = ("caffe2", "metanet", "hsm")
HERE = Path(__file__).parent


def compile_protos(target: Path = HERE) -> None:
    """Write the descriptor set and the stubs into `target`.

    Raises:
        RuntimeError: protoc refused a file; its own words are on stderr.
    """
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as scratch:
        status = protoc.main(
            [
                "protoc",
                f"-Icaffe2/proto={HERE}",
                f"--descriptor_set_out={target / 'descriptors.bin'}",
                f"--pyi_out={scratch}",
                *(f"caffe2/proto/{name}.proto" for name in FILES),
            ]
        )
        if status:
            raise RuntimeError("protoc refused a .proto file")
        for name in FILES:
            stub = (Path(scratch) / "caffe2" / "proto" / f"{name}_pb2.pyi").read_text()
            (target / f"{name}.pyi").write_text(as_local_stub(stub))


def as_local_stub(stub: str) -> str:
    """Point a stub's import of a sibling at this package, which holds the modules under shorter names."""
    local = stub.replace("from caffe2.proto import caffe2_pb2 as", "from gradviz.proto import caffe2 as")
    return local.replace("_Mapping]", "_Mapping[str, object]]")  # protoc leaves it bare, which strict typing refuses


if __name__ == "__main__":
    compile_protos()
