"""Pictures of plans and trainings."""
