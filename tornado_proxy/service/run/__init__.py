"""The life of the process: its start and end, serving, workers, sockets, logs."""
