"""The one rule of time: leave, travel, wait, meet the deadline, serve."""
