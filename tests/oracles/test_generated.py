"""The committed messages are those of the .proto file."""

from pathlib import Path

import pytest

from oracles.wire._pb import generate, oracle_pb2

PROTOS = Path(__file__).parents[2] / "proto"
HERE = Path(oracle_pb2.__file__).parent


def test_the_generated_messages_are_those_of_the_proto_file() -> None:
    pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed")
    assert (HERE / "oracle_pb2.py").read_text() == generate.module(generate.descriptor(PROTOS))


def test_the_generated_types_name_every_field_of_the_proto_file() -> None:
    stub = (HERE / "oracle_pb2.pyi").read_text()
    for message in oracle_pb2.DESCRIPTOR.message_types_by_name.values():
        fields = tuple(field.name for field in message.fields)
        comma = "," if len(fields) == 1 else ""
        slots = ", ".join(f'"{name}"' for name in fields) + comma
        assert f"class {message.name}(_message.Message):\n    __slots__ = ({slots})" in stub


def test_no_version_of_the_protobuf_runtime_is_refused_by_name() -> None:
    assert "runtime_version" not in (HERE / "oracle_pb2.py").read_text()
