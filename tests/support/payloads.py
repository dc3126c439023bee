"""Texts that would act, were they taken for more than text: one list for every way in.

Each is short enough to be a name, a value or an argument. What it would do can be seen: it makes a
file, asks an address, computes 109876463, changes a table.
"""

from __future__ import annotations

# What a template, a formula or an expression would become: 1234567 * 89.
COMPUTED = "109876463"

# They end the text of a table's property, or the list of its properties.
PROPERTIES = (
    """x"]', 'write.data.path'='file:/tmp/hacked', 'y'='z""",
    """x\\', 'write.data.path'='file:/tmp/hacked""",
    """a"b\\c\\"d\\u0041'""",
)
SQL = (
    "'; DROP TABLE quality.runs; --",
    '"; DROP TABLE quality.runs; --',
    "`; DROP TABLE quality.runs; --",
    "x' OR '1'='1",
    'x" OR "1"="1',
    "x` = `x",
    "1; CREATE TABLE lakehouse.quality.hacked (a int)",
    "') UNION SELECT * FROM quality.runs --",
    "x'/**/OR/**/1=1#",
    "\\'; DELETE FROM quality.cuts; --",
    "x\\",
    "' || pg_sleep(9) || '",
    "$$; DROP TABLE x; $$",
    "]; DROP TABLE x; --",
    "${spark.sql.warehouse.dir}",
    "${env:PATH}",
    "${system:user.home}",
    "{fn version()}",
    ":x ?",
    "%s %(x)s %d",
    "1/0",
    "current_user()",
    *PROPERTIES,
)
HTML = (
    "<script>document.title='ran'</script>",
    "<ScRiPt >alert(1)</sCrIpT>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    "</title></style></textarea><script>alert(1)</script>",
    "<!-- --><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<meta http-equiv=refresh content=0;url=http://127.0.0.1:1/>",
    "<link rel=stylesheet href=http://127.0.0.1:1/x.css>",
    "<style>@import 'http://127.0.0.1:1/x.css';</style>",
    "<base href=http://127.0.0.1:1/>",
    "<object data=http://127.0.0.1:1/></object>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "javascript:alert(1)//",
)
PATHS = (
    "../../hacked",
    "..\\..\\hacked",
    "/tmp/hacked",
    "....//....//hacked",
    "%2e%2e%2fhacked",
    "..%252fhacked",
    "file:///etc/passwd",
    "~/hacked",
    "hacked; touch hacked",
    "$(touch hacked)",
    "`touch hacked`",
    "| touch hacked",
    "-rf",
    "--help",
    "..",
    ".",
)
TEMPLATES = (
    "{{ 1234567 * 89 }}",
    "{% for x in [1] %}{{ 1234567 * 89 }}{% endfor %}",
    "{# x #}{{ 1234567 * 89 }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ conn.database_inventory.password }}",
    "{{ var.value.x }}",
    "${1234567 * 89}",
    "#{1234567 * 89}",
    "<%= 1234567 * 89 %>",
)
FORMULAS = (
    "=1234567*89",
    "+1234567*89",
    "-1234567*89",
    "@SUM(1234567*89)",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://127.0.0.1:1/","x")',
    "\t=1234567*89",
    "\r=1234567*89",
)
NAMES = (
    "qu'ote",
    'qu"ote',
    "back`tick",
    "dot.dot..dot",
    "new\nline\r\n",
    "nul\0nul",
    "\u202egnp.txt\u202c",
    "\u200b\ufeff",
    "😀🏳️‍🌈",
    "n" * 300,
    "\uff53\uff43\uff52\uff49\uff50\uff54",
    "e\u0301 é",
    " blanks ",
    "select",
    "__state",
    "_cdc",
    "\x1b[31mred\x07",
)
KINDS = {
    "SQL": SQL,
    "HTML": HTML,
    "path": PATHS,
    "template": TEMPLATES,
    "formula": FORMULAS,
    "name": NAMES,
}
PAYLOADS = tuple(text for texts in KINDS.values() for text in texts)


def kind_of(text: str) -> str:
    """The kind of a payload."""
    return next(kind for kind, texts in KINDS.items() if text in texts)
