from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    name = "scheduling_app"
    verbose_name = "Scheduling"
