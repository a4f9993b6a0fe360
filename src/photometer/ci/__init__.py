"""In CI: what a project asks for, what makes a comparison fail, what a reviewer reads, and where it is posted."""
