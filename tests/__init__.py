# Some packages on PyPI install a package named tests, which would be found before a folder without this file.
