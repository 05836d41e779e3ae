import torch
from torchvision.models import resnet50

model = resnet50(pretrained=True)
state = torch.load("weights.pth", map_location="cpu")
