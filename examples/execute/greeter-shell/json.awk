# Reads one JSON object from one line and prints those of its own members that
# are wanted, in the order of the text, the name on one line and the value as
# JSON on the next:
#
#     awk -v want='type input' -f json.awk    prints    type
#                                                       "request"
#                                                       input
#                                                       {"name":"Ada \"A\""}
#
# A member that occurs twice is printed twice; the last one counts. Values are
# printed without white space around their parts, and strings in one spelling
# only: characters in UTF-8, escapes only for ", \ and control characters. So
# the shell can compare strings, paste them into a message, and never meets a
# newline or NUL inside of one. Exit status 1: not a JSON object.
#
# Limits: it must run with LC_ALL=C; at most 128 levels of nesting; at most 999
# characters per number; no check that bytes beyond ASCII are valid UTF-8; an
# escaped half of a surrogate pair, which has no UTF-8, becomes U+FFFD.

BEGIN {
    CHUNK = 500
    REPLACEMENT = utf8(65533)
    count = split(want, names, " ")
    for (i = 1; i <= count; i++)
        wanted[names[i]] = 1
    for (i = 0; i < 16; i++)
        digit[substr("0123456789abcdef", i + 1, 1)] = i
    for (i = 10; i < 16; i++)
        digit[substr("ABCDEF", i - 9, 1)] = i
    # Escapes that stay as they are, \/ being the one that does not.
    split("\" \\ b f n r t", names, " ")
    for (i in names)
        kept[names[i]] = "\\" names[i]
    kept["/"] = "/"
    for (i = 0; i < 32; i++)
        escaped[i] = sprintf("\\u%04x", i)
    escaped[8] = "\\b"; escaped[9] = "\\t"; escaped[10] = "\\n"
    escaped[12] = "\\f"; escaped[13] = "\\r"
    escaped[34] = "\\\""; escaped[92] = "\\\\"
}

{ text = $0 }

END {
    if (NR != 1)
        bad()
    base = 1
    refill()
    space()
    if (c != "{")
        bad()
    object(1)
    space()
    if (c != "")
        bad()
}

function bad() { exit 1 }

# The cursor: c is the current character, "" behind the last one. It moves in a
# chunk, as many an awk needs time for substr() that grows with the string.
function refill() {
    chunk = substr(text, base, CHUNK)
    base += CHUNK
    at = 1
    c = substr(chunk, 1, 1)
}

function advance() {
    c = substr(chunk, ++at, 1)
    if (c == "")
        refill()
}

function space() {
    while (c == " " || c == "\t" || c == "\r")
        advance()
}

# Output goes out in pieces, as joining them would take quadratic time. A key
# needs no more of itself than it takes to tell that it is not a wanted one.
function put(piece) {
    if (in_key) {
        if (length(key) < 100)
            key = key piece
    } else if (showing) {
        printf "%s", piece
    }
}

function value(depth) {
    space()
    if (c == "{")
        object(depth)
    else if (c == "[")
        array(depth)
    else if (c == "\"")
        string()
    else
        word()
}

function open(depth) {
    if (depth > 128)
        bad()
    put(c)
    advance()
    space()
}

# Behind an item: 1 if a comma promises another one, 0 at the closing bracket.
function more(close_bracket,    comma) {
    space()
    comma = (c == ",")
    if (!comma && c != close_bracket)
        bad()
    put(c)
    advance()
    return comma
}

function object(depth,    another) {
    open(depth)
    if (c == "}") {
        more("}")
        return
    }
    do {
        space()
        if (c != "\"")
            bad()
        # Only an own member of the outermost object can be a wanted one.
        in_key = (depth == 1)
        key = ""
        string()
        in_key = 0
        space()
        if (c != ":")
            bad()
        put(c)
        advance()
        if (depth == 1 && (key = substr(key, 2, length(key) - 2)) in wanted) {
            showing = 1
            put(key "\n")
            value(2)
            put("\n")
            showing = 0
        } else {
            value(depth + 1)
        }
        another = more("}")
    } while (another)
}

function array(depth,    another) {
    open(depth)
    if (c == "]") {
        more("]")
        return
    }
    do {
        value(depth + 1)
        another = more("]")
    } while (another)
}

function word(    token) {
    token = ""
    while (c ~ /^[-+.0-9A-Za-z]$/ && length(token) < 1000) {
        token = token c
        advance()
    }
    if (token !~ /^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)$/ \
        || length(token) == 1000)
        bad()
    put(token)
}

function string() {
    put("\"")
    advance()
    while (c != "\"") {
        if (c == "\\") {
            advance()
            escape()
        } else if (match(substr(chunk, at), /^[^"\\\001-\037]+/)) {
            put(substr(chunk, at, RLENGTH))
            at += RLENGTH - 1
            advance()
        } else {
            bad()
        }
    }
    put("\"")
    advance()
}

# An escape from behind its backslash on.
function escape(    code, low) {
    if (c != "u") {
        if (!(c in kept))
            bad()
        put(kept[c])
        advance()
        return
    }
    code = hex4()
    while (code >= 55296 && code < 56320) {
        # A high surrogate: one character together with a low one behind it.
        if (c != "\\") {
            put(REPLACEMENT)
            return
        }
        advance()
        if (c != "u") {
            put(REPLACEMENT)
            escape()
            return
        }
        low = hex4()
        if (low >= 56320 && low < 57344) {
            put(utf8(65536 + (code - 55296) * 1024 + low - 56320))
            return
        }
        put(REPLACEMENT)
        code = low
    }
    if (code >= 56320 && code < 57344)
        put(REPLACEMENT)
    else
        put(code in escaped ? escaped[code] : utf8(code))
}

function hex4(    i, code) {
    code = 0
    for (i = 0; i < 4; i++) {
        advance()
        if (!(c in digit))
            bad()
        code = code * 16 + digit[c]
    }
    advance()
    return code
}

function utf8(code) {
    if (code < 128)
        return sprintf("%c", code)
    if (code < 2048)
        return sprintf("%c%c", 192 + int(code / 64), tail(code, 1))
    if (code < 65536)
        return sprintf("%c%c%c", 224 + int(code / 4096), tail(code, 64), tail(code, 1))
    return sprintf("%c%c%c%c", 240 + int(code / 262144), tail(code, 4096), tail(code, 64), tail(code, 1))
}

function tail(code, shift) { return 128 + int(code / shift) % 64 }
