"""Commands of the project: the module's name is the command's, `scrapy NAME`.

Scrapy imports every module here at each call, so heavy imports go inside `run`.
"""
