"""What we need of the operating system and of Python: nothing here knows the product."""
