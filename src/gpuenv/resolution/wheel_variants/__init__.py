"""Wheel variants (PEP 825, a draft): what a machine supports, and which variant of a wheel fits it best."""
