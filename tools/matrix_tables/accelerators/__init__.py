"""Tables of accelerators that are not NVIDIA's on a PC, from facts/accelerators and the TOML here."""
