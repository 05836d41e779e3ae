"""Columns of progress bars; imported only where one is drawn."""

from __future__ import annotations

from rich.progress import ProgressColumn, Task
from rich.text import Text

from gpuenv.i18n.amounts import render_size


class AmountsColumn(ProgressColumn):
    """Bytes that have come, and all of them, each in its own unit: `84.2 MB/1.9 GB`."""

    def render(self, task: Task) -> Text:
        """Render them; a size that is not known is left out."""
        amounts = (task.completed, task.total) if task.total else (task.completed,)
        return Text("/".join(render_size(int(amount)) for amount in amounts), style="progress.download")
