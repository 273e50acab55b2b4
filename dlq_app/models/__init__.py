from dlq_app.models.dead_letter import Act, DeadLetter, DeadLetterAct, Resolution
from dlq_app.models.policy import AlertKind, DeadLetterAlert, DeadLetterPolicy, DeadLetterRecovery

__all__ = [
    "Act",
    "AlertKind",
    "DeadLetter",
    "DeadLetterAct",
    "DeadLetterAlert",
    "DeadLetterPolicy",
    "DeadLetterRecovery",
    "Resolution",
]
