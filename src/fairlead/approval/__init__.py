"""Getting a yes where the rules demand one. The only stage that may wait for a person."""
