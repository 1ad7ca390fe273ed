"""The limits of the process, of reloads and of workers."""

from __future__ import annotations

SHARE_OF_DESCRIPTORS = 0.2
"""Share of the descriptors of a process for connections to S3; clients have three quarters."""

SWITCH_INTERVAL = 0.0005
"""Seconds that a thread may keep the interpreter's lock; a tenth of Python's default."""

LAST_USED_WITHIN = 1.0
"""Seconds after which nobody uses what an edit has replaced."""
FREED_A_TURN = 200
"""Rewrites of it that are freed at once, in a millisecond or two."""

CERTIFICATES_FRESH = 3600.0
"""Seconds after which certificates of URLs are fetched again."""
EXPIRES_SOON = 14 * 86400
"""Seconds before the end of a certificate of which the log warns; one that a program renews is younger."""

CHANGES_SHOWN = 5
"""Changes of a kind that are named; the others are counted."""

LAST_GOOD_AGAIN_AFTER = 60.0
"""Seconds after which a failed copy is tried again."""

PROBED_WITHIN = 5.0
"""Seconds that a reload waits for a bucket."""

READ_WITHIN = 10.0
"""Seconds after which a reload no longer waits for a file system. In the manual."""

MOST_FAILING_SHOWN = 20
"""Failing tests that are reported one by one."""

SETTLED_AFTER = 0.02
"""Seconds between two readings that must agree."""
READINGS_IF_HALFWAY = 50
"""Readings that must agree after a file became empty or unreadable: an edit may be half done. A rule file that is
deleted from a directory that has others needs no more readings than other edits."""
MOST_READINGS = 75
"""Readings in all."""

MOST_LOOKS = 10
"""Attempts to watch directories that change meanwhile."""

FEEDS_A_PERIOD = 3
"""Times that the watchdog is fed in its period."""
GRACE_TO_SPARE = 10.0
"""Seconds that systemd should wait beyond the grace period."""
SHOWN_DEFECTS = 20
"""Defects of tasks beside the requests that `/-/status` shows."""
FIRST_PAUSE = 1.0
"""Seconds until a task beside the requests is begun again after a defect, doubled each time."""
LONGEST_PAUSE = 10.0
"""Seconds until it is begun again at most."""
PROBE_JITTER = 0.1
"""Share of the interval of probes, so that many instances do not probe at once."""

THREADS_END_WITHIN = 0.5
"""Seconds in which idle threads end."""

WEBHOOKS_WITHIN = 5.0
"""Seconds for the last webhooks."""
STORES_CLOSE_WITHIN = 2.0
"""Seconds for calls to buckets to end after their requests were cut off."""

BACKLOG = 1024
"""Connections that wait in the kernel."""

WORKER_TICK = 1.0
"""Seconds between two looks at the workers."""
WORKER_RESPONSIVE = 5
"""Ticks without a heartbeat until a worker counts as unresponsive."""
WORKER_STUCK = 15
"""Seconds without a heartbeat until a worker is killed."""
WORKER_STARTING = 120
"""Ticks that a worker may take before its first heartbeat."""
WORKER_ACTIVATING = 60
"""Ticks that it may take to serve another generation; less than `tornado-proxy reload` waits."""
PURGED_WITHIN = 5.0
"""Seconds for a worker to answer; it purges its caches in any case."""
COUNTS_WITHIN = 1.0
"""Seconds after which a worker's earlier counts are used."""
AFTER_GRACE = 5.0
"""Seconds for a worker to end by itself after its grace period."""
WORKER_LASTED = 10.0
"""Seconds of serving after which its end does not count as one of several in a row."""

LONGEST_STATUS = 400
"""Characters of the status for systemd; more would drown the rest of `systemctl status`."""

HEARTBEAT_EVERY = 0.5
"""Seconds between two heartbeats of a worker."""
