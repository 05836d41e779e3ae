"""Projects whose releases pin torch (vllm, sglang): the newest release that runs here chooses the torch."""
