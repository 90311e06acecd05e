"""For scrapyd-deploy, which builds an egg by setup.py alone; pyproject.toml says everything."""

from setuptools import setup

setup()
