"""Staff and their groups, in the look of the other pages."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class StaffAdmin(UserAdmin, ModelAdmin):  # type: ignore[type-arg]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    compressed_fields = False
    readonly_fields = ("last_login", "date_joined")
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "last_login")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """With a user the history of what they did would go. Take `active` away instead."""
        return False


@admin.register(Group)
class StaffGroupAdmin(GroupAdmin, ModelAdmin):
    compressed_fields = False
