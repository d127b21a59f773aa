"""Plans without a proof: ruin and recreate with exact gains."""
