"""PDFs made by hand."""

import zlib


def pdf(*pages: str, packed: bool = False) -> bytes:
    """A PDF with these texts. `packed`: its streams are compressed."""
    parts = [b"%PDF-1.4\n"]
    places: list[int] = []

    def put(body: bytes) -> None:
        places.append(sum(map(len, parts)))
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (len(places), body))

    kids = b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(len(pages)))
    put(b"<< /Type /Catalog /Pages 2 0 R >>")
    put(b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)))
    put(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, words in enumerate(pages):
        put(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number)
        )
        drawn = b"BT /F1 12 Tf 10 100 Td (%s) Tj ET" % words.encode("latin-1")
        how = b""
        if packed:
            drawn, how = zlib.compress(drawn, 9), b" /Filter /FlateDecode"
        put(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(drawn), how, drawn))
    at = sum(map(len, parts))
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    parts.append(b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(places) + 1, rows))
    parts.append(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, at))
    return b"".join(parts)
