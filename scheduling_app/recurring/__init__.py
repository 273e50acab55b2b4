"""Recurring schedules: when they tick, and the step that turns ticks into messages for later."""
