"""Beat's tables, in the look of the other pages."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django_celery_beat import admin as beat
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule
from unfold.admin import ModelAdmin, TabularInline
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

for model in (PeriodicTask, IntervalSchedule, CrontabSchedule, SolarSchedule, ClockedSchedule):
    admin.site.unregister(model)


class TaskSelect(UnfoldAdminSelectWidget, beat.TaskSelectWidget):
    pass


class PeriodicTaskForm(beat.PeriodicTaskForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A page that is only looked at has no fields.
        for name, widget in (("task", UnfoldAdminTextInputWidget()), ("regtask", TaskSelect())):
            if name in self.fields:
                self.fields[name].widget = widget


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(beat.PeriodicTaskAdmin, ModelAdmin):
    form = PeriodicTaskForm
    date_hierarchy = None
    list_display = ("name", "enabled", "scheduler", "last_run_at", "one_off")
    list_filter = ("enabled", "one_off")

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Enable, disable and run are changes; as they come, the right to look would do for them."""
        return super().get_actions(request) if self.has_change_permission(request) else {}


class PeriodicTaskInline(TabularInline):
    model = PeriodicTask
    fields = readonly_fields = ("name", "task", "enabled")
    can_delete = False
    extra = 0
    show_change_link = True
    verbose_name_plural = "Periodic tasks with this schedule"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(IntervalSchedule, SolarSchedule)
class ScheduleAdmin(ModelAdmin):
    inlines = [PeriodicTaskInline]


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(beat.CrontabScheduleAdmin, ModelAdmin):
    inlines = [PeriodicTaskInline]


@admin.register(ClockedSchedule)
class ClockedScheduleAdmin(beat.ClockedScheduleAdmin, ModelAdmin):
    inlines = [PeriodicTaskInline]
