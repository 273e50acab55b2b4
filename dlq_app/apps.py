from django.apps import AppConfig


class DeadLettersConfig(AppConfig):
    name = "dlq_app"
    verbose_name = "Dead letters"
