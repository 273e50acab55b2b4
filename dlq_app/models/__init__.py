from dlq_app.models.dead_letter import Act, DeadLetter, DeadLetterAct, Resolution

__all__ = ["Act", "DeadLetter", "DeadLetterAct", "Resolution"]
