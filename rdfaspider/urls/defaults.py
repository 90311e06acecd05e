"""The defaults of the filters, and two optional transforms."""

_TRACKING = """
    utm_* gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid li_fat_id
    mc_cid mc_eid mkt_tok _ga _gl _hsenc _hsmi vero_id wt_mc
"""

# svg is not among the pictures, for it may carry RDFa.
_EXTENSIONS = {
    "pictures": """
        apng avif bmp cr2 dng eps gif heic heif ico jfif jp2 jpe jpeg jpg jxl nef png ps psd tga
        tif tiff webp
    """,
    "sound and film": """
        3gp aac aif aiff amr asf avi flac flv m3u m3u8 m4a m4v mid midi mkv mov mp2 mp3 mp4 mpeg
        mpg oga ogg ogv opus swf ts wav weba webm wma wmv
    """,
    "archives and disks": """
        7z br bz2 cab dmg gz iso lz4 lzma rar tar tbz2 tgz txz xz zip zst
    """,
    "programs and packages": """
        apk appimage bin crx deb dll exe ipa jar msi pkg rpm war wasm whl xpi
    """,
    "parts of pages": """
        css eot js mjs otf ttf woff woff2
    """,
    "documents and tables": """
        azw3 csv doc docm docx dotx epub mdb mobi odg odp ods odt parquet pdf potx pps ppsx ppt
        pptm pptx rtf sqlite tsv vsd xls xlsb xlsm xlsx xps
    """,
    "other things to download": """
        dwg dxf ics kmz pem sig stl torrent vcf
    """,
}

TRACKING = tuple(_TRACKING.split())
"""Query parameters that tell a site where its visitor came from, and never choose a page."""

NO_PAGES = tuple(
    f"extension:{extension}" for group in _EXTENSIONS.values() for extension in group.split()
)
"""Rules that reject by its extension what is never a page."""

DIRECTORY_INDEX = (
    r"/(?:index|default)\.(?:[psx]?html?|php[3-8]?|aspx?|jspx?|cfm|cgi)(?=\?|$)",
    "/",
)
"""A transform that takes ``/a/index.html`` for ``/a/``. Not every server does."""

WWW = (r"^(https?://)www[0-9]*\.(?=[^/:@]+\.)", r"\1")
"""A transform that takes ``www.example.org`` for ``example.org``. Not every site does."""
