"""Which functions of Spark's SQL the condition of a rule may call, as a list of those that it may.

In: the text of a condition. Out: why it is refused. A condition may come from whoever writes a data
contract, and Spark also has functions that run code, read files and tell of the session.
https://spark.apache.org/docs/latest/api/sql/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import Token

# What Spark 4.1 has for the values of one row, but for what is refused below.
_ROW_FUNCTIONS = """
and equal_null ilike in isnan isnotnull isnull like not or regexp regexp_like rlike
between coalesce if ifnull nanvl nullif nullifzero nvl nvl2 when zeroifnull
ascii base64 bit_length btrim char char_length character_length chr collate collation
concat_ws contains decode elt encode endswith find_in_set format_number format_string
initcap instr is_valid_utf8 lcase left len length levenshtein locate lower lpad ltrim
luhn_check make_valid_utf8 mask octet_length overlay position printf quote regexp_count
regexp_extract regexp_extract_all regexp_instr regexp_replace regexp_substr repeat replace
right rpad rtrim sentences soundex space split split_part startswith substr substring
substring_index to_binary to_char to_number to_varchar translate trim try_to_binary
try_to_number try_validate_utf8 ucase unbase64 upper validate_utf8
abs acos acosh asin asinh atan atan2 atanh bin bround cbrt ceil ceiling conv cos cosh cot
csc degrees div e exp expm1 factorial floor greatest hex hypot least ln log log10 log1p log2
mod negative pi pmod positive pow power radians rint round sec sign signum sin sinh sqrt tan
tanh try_add try_divide try_mod try_multiply try_subtract unhex width_bucket
bit_count bit_get getbit shiftleft shiftright shiftrightunsigned
add_months convert_timezone curdate current_date current_time current_timestamp
current_timezone date_add date_diff date_format date_from_unix_date date_part date_sub
date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract
from_unixtime from_utc_timestamp hour last_day localtimestamp make_date make_dt_interval
make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
make_ym_interval minute month monthname months_between next_day now quarter second time_diff
time_trunc timestamp_micros timestamp_millis timestamp_seconds to_date to_time to_timestamp
to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_make_interval
try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_to_date try_to_time
try_to_timestamp unix_date unix_micros unix_millis unix_seconds unix_timestamp weekday
weekofyear year
bigint binary boolean cast date decimal double float int smallint string time timestamp
tinyint
array array_append array_compact array_contains array_distinct array_except array_insert
array_intersect array_join array_max array_min array_position array_prepend array_remove
array_repeat array_size array_union arrays_overlap arrays_zip flatten get sequence slice
sort_array
map map_concat map_contains_key map_entries map_from_arrays map_from_entries map_keys
map_values str_to_map
cardinality concat element_at reverse size try_element_at
aggregate array_sort exists filter forall map_filter map_zip_with reduce transform
transform_keys transform_values zip_with
named_struct struct
from_json get_json_object json_array_length json_object_keys schema_of_json to_json
from_csv schema_of_csv to_csv
to_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
xpath_short xpath_string
is_variant_null parse_json schema_of_variant to_variant_object try_parse_json
try_variant_get variant_get
crc32 hash md5 sha sha1 sha2 xxhash64
parse_url try_parse_url try_url_decode url_decode url_encode
st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid
aes_decrypt aes_encrypt approx_top_k_estimate bitmap_bit_position bitmap_bucket_number
bitmap_count hll_sketch_estimate hll_union kll_sketch_get_n_bigint kll_sketch_get_n_double
kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double
kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double
kll_sketch_to_string_float theta_difference theta_intersection theta_sketch_estimate
theta_union try_aes_decrypt typeof
"""
# What the grammar has beside functions that stands before a parenthesis.
_SYNTAX = """
all any as both case character dec distinct else escape for from interval is leading numeric
placing some then timestampadd timestampdiff trailing try_cast varchar
"""
_CODE = "it runs code that its text names"
_FILES = "it may read a file that its arguments name"
_SESSION = "it tells of the session, not of a row"
_PLACE = "it tells of files and tasks, not of a row"
_CHANCE = "it says something else each time"
_END = "it ends the validation of all tables"
_ROWS = "it makes rows"
# Function → why no condition may call it.
REFUSED = {
    **dict.fromkeys(("java_method", "reflect", "try_reflect"), _CODE),
    **dict.fromkeys(("from_avro", "to_avro", "schema_of_avro"), _FILES),
    **dict.fromkeys(("from_protobuf", "to_protobuf", "from_xml", "schema_of_xml"), _FILES),
    **dict.fromkeys(("current_user", "session_user", "user", "version"), _SESSION),
    **dict.fromkeys(("current_catalog", "current_database", "current_schema"), _SESSION),
    **dict.fromkeys(("input_file_name", "input_file_block_start"), _PLACE),
    **dict.fromkeys(("input_file_block_length", "spark_partition_id"), _PLACE),
    "monotonically_increasing_id": _PLACE,
    **dict.fromkeys(("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle"), _CHANCE),
    **dict.fromkeys(("assert_true", "raise_error"), _END),
    **dict.fromkeys(("window", "window_time", "session_window", "json_tuple"), _ROWS),
    **dict.fromkeys(("variant_explode", "variant_explode_outer"), _ROWS),
    "schema_of_variant_agg": "it takes all rows together",
}
# Called without parentheses too; in backticks they are columns.
_BARE = ("current_user", "session_user")
ALLOWED = frozenset(_ROW_FUNCTIONS.split())
_KNOWN = ALLOWED.union(_SYNTAX.split())
_UNKNOWN = "expected a function of Spark 4.1 over the values of one row"


def refusal(condition: str) -> str | None:
    """Why a condition may not be computed, with what to do; None where it may.

    Args:
        condition: Text that sqlglot can read as Spark's SQL.
    """
    # Parsing takes a third of a second to import, and few sources have rules.
    from sqlglot import tokenize  # noqa: PLC0415

    tokens = tokenize(condition, read="spark")
    # Spark ends comments elsewhere: text that is one here may be a call there.
    if not _covers(tokens, condition):
        return "expected no comment in it; write it into the rule's description"
    return next(_refused(tokens), None)


def _covers(tokens: list[Token], condition: str) -> bool:
    """Whether there is nothing but blanks between tokens."""
    end = 0
    for token in tokens:
        if condition[end : token.start].strip():
            return False
        end = max(end, token.end + 1)
    return not condition[end:].strip()


def _refused(tokens: list[Token]) -> Iterator[str]:
    """What is wrong with each function that is called, by its own name or by one with dots."""
    before = ""
    for token, behind in zip(tokens, [*tokens[1:], None], strict=True):
        name, kind = token.text.lower(), token.token_type.name
        is_called = behind is not None and behind.text == "("
        if (is_called and name in REFUSED) or (name in _BARE and kind == name.upper()):
            yield f"{name}: {REFUSED[name]}; compare values of the row instead"
        is_name = kind == "IDENTIFIER" or name[-1:].isalnum()
        if is_called and is_name and (before == "." or name not in _KNOWN):
            yield f"{name}: {_UNKNOWN}"
        before = token.text
