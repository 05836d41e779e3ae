"""Files: read within limits, replaced in one step; what they held is kept for `mirrors reset`."""
