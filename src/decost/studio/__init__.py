"""The browser's door: a page to plan in, and the service behind it."""
