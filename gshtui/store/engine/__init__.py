"""What every table stands on: the base class, encodings, migrations, errors, and where the files are."""
