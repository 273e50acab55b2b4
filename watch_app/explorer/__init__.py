"""The message explorer: messages found along indexes, each with its whole life; and messages sent to try things out."""
