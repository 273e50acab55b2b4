from dlq_app.models.dead_letter import Act, DeadLetter, DeadLetterAct, Resolution
from dlq_app.models.policy import DeadLetterPolicy, DeadLetterRecovery

__all__ = [
    "Act",
    "DeadLetter",
    "DeadLetterAct",
    "DeadLetterPolicy",
    "DeadLetterRecovery",
    "Resolution",
]
