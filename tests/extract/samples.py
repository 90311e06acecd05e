"""Small documents of each syntax, with most of what readers look for, to be mutated."""

from __future__ import annotations

from typing import NamedTuple


class Document(NamedTuple):
    body: bytes
    content_type: str


SAMPLES = [
    Document(
        b"""<!DOCTYPE html><html lang=en prefix="s: http://schema.org/"><head><title>T &amp; t</title>
<meta charset=utf-8><base href="/dir/"><link rel=canonical href=c><meta property="og:title" content="O">
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Book", "name": "B",
 "author": [{"@id": "#a", "name": "A"}], "price": 1.5}</script></head><body vocab="http://schema.org/">
<div typeof=Person resource="#me"><b property=name>N</b><a property=url href="x?y=z#f">u</a>
<p rel="s:knows" inlist><i about="#b"></i></p><time property=birthDate datetime=2001-02-03>d</time></div>
<div itemscope itemtype="http://schema.org/Event" itemid="#e" itemref=r><span itemprop=name>E</span>
<div itemprop=location itemscope><meta itemprop=geo content=g></div></div><p id=r itemprop=about>r</p>
<p property="s:text" datatype="rdf:XMLLiteral">a<b>c</b></p><a rel=nofollow href=/n>n</a>
<svg><path d="M0"/><title>s</title></svg><select><option>1<option>2</select><table><tr><td>x</table>""",
        "text/html",
    ),
    Document(
        b"""<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"
 xmlns:dc="http://purl.org/dc/terms/" version="XHTML+RDFa 1.0"><head><title>T</title></head>
<body><p about="#x" property="dc:title" xml:lang="en">a&nbsp;<b>b</b></p><p rel="dc:creator"
 resource="[dc:c]"/><![CDATA[<&]]></body></html>""",
        "application/xhtml+xml",
    ),
    Document(
        b"""<svg xmlns="http://www.w3.org/2000/svg" xml:base="http://e.test/"><metadata><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/terms/">
<rdf:Description rdf:about="x"><dc:title>t</dc:title></rdf:Description></rdf:RDF></metadata>
<g property="dc:title" content="y"/></svg>""",
        "image/svg+xml",
    ),
    Document(
        b"""<!DOCTYPE r [<!ENTITY e "http://e.test/">]><rdf:RDF xmlns:e="http://e.test/"
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><e:T rdf:about="&e;a" e:p="v &#233;" xml:lang="en">
<e:q rdf:parseType="Literal"><b/></e:q><e:l rdf:parseType="Collection"><e:T/></e:l>
<e:r rdf:nodeID="n"/><e:i rdf:datatype="http://www.w3.org/2001/XMLSchema#int">1</e:i></e:T></rdf:RDF>""",
        "application/rdf+xml",
    ),
    Document(
        b"""@prefix e: <http://e.test/> . @base <http://b.test/> .
<a> a e:T ; e:p "v"@en, 'w', \"\"\"x\ny\"\"\", 1, 1.5e0, true, [ e:q ( 1 2 _:b ) ] . # c
PREFIX f: <#> f:x e:p "\\u00e9"^^<http://www.w3.org/2001/XMLSchema#string> .""",
        "text/turtle",
    ),
    Document(
        b'@prefix e: <http://e.test/> . e:g { e:a e:b "c" . _:x e:y [] } GRAPH <g> { <s> <p> <o> }',
        "application/trig",
    ),
    Document(
        b'<http://e.test/a> <http://e.test/b> "c"@en .\n_:x <http://e.test/y> <z:> .\n',
        "text/ntriples",
    ),
    Document(
        b'_:a <http://e.test/b> "c\\n"^^<http://e.test/t> <http://e.test/g> .\n', "text/nquads"
    ),
    Document(
        b"""{"@context": [{"e": "http://e.test/", "@vocab": "http://v.test/", "@base": "http://b.test/",
 "k": {"@id": "e:k", "@type": "@id", "@container": "@list"}}, "https://schema.org/"],
 "@id": "x", "@type": ["e:T", "U"], "k": ["a", "b"], "name": {"@value": "n", "@language": "en"},
 "@graph": [{"@id": "_:b", "e:n": [1, 1.5, true, null]}], "@reverse": {"e:r": {"@id": "y"}}}""",
        "application/ld+json",
    ),
]

# Some seconds of work that nobody can tell from its size: each of its literals is written out anew.
SLOW = b'<b property="dc:x" datatype="rdf:XMLLiteral">' * 400 + b"<i>a</i>" * 10_000

# A tree of twenty million elements: each paragraph opens all of the others again.
BOMB = b"<p>" + b"".join(b"<font color=%d>" % n for n in range(511)) + b"<p>x" * 40_000
