"""What a command line would run, read without running or looking up anything.

A line is *plain* when its text alone says which programs start with which arguments, in every
shell that may read it. Everything else is named as what it is. Doubt is never plain.
"""
