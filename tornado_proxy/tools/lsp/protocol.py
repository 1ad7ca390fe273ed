"""What a message of a client is answered with where no feature of the server is asked for.

Pygls leaves requests without an answer whose parameters are wrong.
"""

from __future__ import annotations

import json
from typing import Any

from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest, JsonRpcParseError
from pygls.protocol import LanguageServerProtocol


class RulesProtocol(LanguageServerProtocol):
    """Pygls's protocol, which also answers what it cannot understand."""

    def handle_body(self, body: bytes) -> None:
        """Do what a message asks for; one that makes no sense is answered with an error (JSON-RPC 2.0, section 5.1)."""
        try:
            fields = json.loads(body)
        except ValueError:
            self._refuse(None, JsonRpcParseError())
            return
        if not isinstance(fields, dict) or "jsonrpc" not in fields:
            self._refuse(None, JsonRpcInvalidRequest())
            return
        try:
            message = self.structure_message(fields)
        except JsonRpcException:
            # There is nobody to tell about a notification, nor about an answer.
            if "id" in fields and "method" in fields:
                self._refuse(fields["id"], JsonRpcInvalidParams())
            return
        self.handle_message(message)

    def _refuse(self, identifier: Any, error: JsonRpcException) -> None:
        known = identifier if isinstance(identifier, (int, str)) else None
        self._send_data({"jsonrpc": self.VERSION, "id": known, "error": error.to_response_error()})
