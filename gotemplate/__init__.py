"""What Go reads, in Python: its regular expressions, its templates, and the functions of sprig. See README.md."""
