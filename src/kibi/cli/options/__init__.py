"""Options that several verbs take, and what they mean."""
