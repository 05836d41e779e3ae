import os

if os.environ.get("FAKE_TORCHVISION"):
    raise RuntimeError(os.environ["FAKE_TORCHVISION"])
