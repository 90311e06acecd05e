"""Rendering: HTML as its scripts leave it.

A page that was fetched is loaded into Chromium from the bytes that we have. Its scripts run, and the document
they leave is read instead. The browser has no network: whatever its scripts ask for is asked of the crawl,
which fetches it with its own client, behind the address guard and robots.txt, or refuses it. So one client
and one guard serve both ways, https is not opaque, and whatever goes past the routing of requests
(WebSockets, WebRTC, prefetching) leads nowhere.

choice        which pages are worth it, as learnt from those that were rendered
browsers      a pool of browsers, as the crawl sees it
process       one browser: a child process, what it asks for, its limits
isolation     a process without network; trees of processes, their memory, their end
resources     what pages may ask for, and answers that pages share
worker        what runs in the child process: Playwright and Chromium

The child and the crawl talk through a socket, in lines of JSON, each followed by as many bytes as its `size`
says. Nothing that comes back is executed.
"""
