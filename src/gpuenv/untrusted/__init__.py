"""What anybody may have written: parsed within bounds, printed without control characters."""
