"""A server of version 1.0 of the protocol: `python old_server.py NAME` speaks frames."""

import os
import sys
from dataclasses import replace

from oracles.serve.handler import Handler
from oracles.serve.stdio import Conversation, claimed_stdout
from oracles.wire import json_form
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description, Question
from tests.oracles.filters import named

KEYS = {"dataset", "digest", "drop", "about", "draws", "seed"}  # of a question; others are ignored


class OldHandler(Handler):
    """Says that it speaks 1.0, and does not see what 1.1 added; test_wire_questions shows that such parsers do not."""

    def describe(self, major: int = 0) -> Description:
        return replace(super().describe(major), protocol=(1, 0))

    def question(self, message: pb.AnswerRequest) -> Question:
        message.ClearField("without")
        return super().question(message)

    def json_question(self, body: bytes) -> Question:
        message = json_form.loaded(body)
        return super().json_question(json_form.dumped({key: message[key] for key in message if key in KEYS}))


if __name__ == "__main__":
    with claimed_stdout() as frames:
        Conversation(OldHandler(named(sys.argv[1])), os.fdopen(0, "rb"), frames).run()
