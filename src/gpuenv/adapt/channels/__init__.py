"""An environment.yml against what conda's channels have: read, judged, solved."""
