"""HTTP's semantics as values (RFC 9110, RFC 9530): each header is a type made from text that makes the text again."""
