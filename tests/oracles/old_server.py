"""A server of version 1.0 of the protocol: `python old_server.py NAME` speaks frames."""

import os
import sys
from dataclasses import replace

from oracles.serve.handler import Form, Handler
from oracles.serve.stdio import Conversation, claimed_stdout
from oracles.wire import json_form
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description
from oracles.wire.questions import Question
from tests.oracles.filters import named

KEYS = {"dataset", "digest", "drop", "about", "draws", "seed"}  # of a question; others are ignored


class OldHandler(Handler):
    """Says that it speaks 1.0, and does not see what 1.1 added; test_wire_questions shows that such parsers do not."""

    def describe(self, major: int = 0) -> Description:
        return replace(super().describe(major), protocol=(1, 0))

    def question(self, body: bytes, form: Form) -> Question:
        if form == "protobuf":
            message = pb.AnswerRequest.FromString(body)
            message.ClearField("without")
            return super().question(message.SerializeToString(), form)
        known = {key: value for key, value in json_form.loaded(body).items() if key in KEYS}
        return super().question(json_form.dumped(known), form)


if __name__ == "__main__":
    with claimed_stdout() as frames:
        Conversation(OldHandler(named(sys.argv[1])), os.fdopen(0, "rb"), frames).run()
