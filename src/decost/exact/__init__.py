"""Plans with a proof: label setting for one vehicle, column generation for teams."""
