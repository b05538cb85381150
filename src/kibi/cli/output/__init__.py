"""Parts of what verbs print, and the files that go with it."""
