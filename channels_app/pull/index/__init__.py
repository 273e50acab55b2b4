"""Polling by index: a consumer reads its channel by the messages' sequence, at its own pace.

Two indexes are kept of it. Everything up to `sent` was handed out, everything up to `acked` is done, and between them
lie at most `unackedCap` messages. What is DEAD or expunged is passed over and counts as acknowledged.
"""
