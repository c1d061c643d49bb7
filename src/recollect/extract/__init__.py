"""Facts and learnings from what users say."""
