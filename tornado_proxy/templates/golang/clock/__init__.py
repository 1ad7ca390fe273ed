"""Time as Go's package time has it, as far as no clock is read: moments, durations, and the layouts of both."""
