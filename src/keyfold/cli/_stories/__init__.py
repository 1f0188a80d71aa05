"""The stories of `keyfold demo --story`: one for each design, told by its patterns and roles."""

from __future__ import annotations

from keyfold.cli._stories.report import STORIES, StoryReport, tell_stories, tell_story
from keyfold.cli._stories.teller import Actor, Step, Story, StoryClock, Teller

__all__ = [
    "STORIES",
    "Actor",
    "Step",
    "Story",
    "StoryClock",
    "StoryReport",
    "Teller",
    "tell_stories",
    "tell_story",
]
