"""What happened is told once, as an event; the access log and the metrics listen."""
