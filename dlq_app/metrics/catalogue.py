"""Every metric of dead letters, with its labels and its meaning. docs/metrics.md tells the same."""

from channels_app.metrics.catalogue import OF_CHANNEL, OF_CONSUMER, Described

OPEN = Described("broker_dead_letters", "Dead letters that nobody has resolved.", (*OF_CONSUMER, "reason"))
ENTERED = Described("broker_dead_letters_entered_total", "Times that a job became a dead letter.", OF_CHANNEL)
REQUEUED = Described("broker_dead_letters_requeued_total", "Dead letters that were queued again.", OF_CHANNEL)
DISCARDED = Described("broker_dead_letters_discarded_total", "Dead letters that were discarded.", OF_CHANNEL)
EDITED = Described("broker_dead_letters_edited_total", "Dead letters that were sent with other content.", OF_CHANNEL)
OLDEST = Described("broker_oldest_dead_letter_seconds", "Age of the oldest open dead letter.", OF_CHANNEL)
