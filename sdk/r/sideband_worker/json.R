# Turns lines into messages and messages into lines. Refuses what is no JSON object; knows no meaning.
#
# Base R has no JSON. A line is cut at its quotation marks: what is between them are strings, decoded at once as vectors of
# bytes (32 MiB of code must not be walked byte by byte), and what is around them is short enough to be parsed by hand.

LINE_BYTES <- 33554432L # of one line without its line feed, either way
JSON_DEPTH <- 64L # of arrays and objects in each other: no message has more than 2

refuse <- function(why) stop(why, call. = FALSE)

# Return the object in `line` as a named list. Strings are raw vectors, since they may hold NUL.
decode_json <- function(line) {
  if (nchar(line, "bytes") > LINE_BYTES || !validUTF8(line)) refuse("too long, or no UTF-8")
  bytes <- charToRaw(line)
  starts <- escape_starts(bytes)
  quotes <- which(bytes == as.raw(0x22L))
  if (length(starts)) quotes <- quotes[!quotes %in% (starts + 1L)]
  if (length(quotes) %% 2L) refuse("a string has no end")
  opening <- seq_along(quotes) %% 2L == 1L
  from <- quotes[opening]
  to <- quotes[!opening]
  inside <- function(at) findInterval(at, from) > findInterval(at, to)
  if (!all(inside(starts)) || any(inside(which(bytes < as.raw(0x20L))))) refuse("a character that must not be there")
  strings <- Map(function(a, b) cut_bytes(bytes, a + 1L, b - 1L), from, to)
  around <- Map(function(a, b) rawToChar(cut_bytes(bytes, a, b)), c(1L, to + 1L), c(from - 1L, length(bytes)))
  value <- parse_json(paste(unlist(around), collapse = "\""), strings)
  if (!inherits(value, "json_object")) refuse("no object")
  unclass(value)
}

cut_bytes <- function(bytes, a, b) if (b < a) raw() else bytes[a:b]

# Return where escapes begin: in a run of backslashes, at every second one.
escape_starts <- function(bytes) {
  at <- which(bytes == as.raw(0x5cL))
  if (!length(at)) return(integer())
  run <- at
  run[c(FALSE, diff(at) == 1L)] <- 0L
  at[(at - cummax(run)) %% 2L == 0L]
}

# Parse what is around the strings; each string is one quotation mark.
parse_json <- function(text, strings) {
  token <- "\"|[][{}:,]|-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null"
  if (grepl("[^ \t\r\n]", gsub(token, "", text, perl = TRUE), perl = TRUE)) refuse("no JSON")
  tokens <- regmatches(text, gregexpr(token, text, perl = TRUE))[[1L]]
  at <- 0L
  string <- 0L
  take <- function() {
    at <<- at + 1L
    if (at > length(tokens)) refuse("no end")
    tokens[[at]]
  }
  text_of <- function() {
    string <<- string + 1L
    unescape(strings[[string]])
  }
  items <- function(close, item) {
    if (at < length(tokens) && tokens[[at + 1L]] == close) return(take())
    repeat {
      item()
      after <- take()
      if (after == close) return(after)
      if (after != ",") refuse("no comma")
    }
  }
  value <- function(depth) {
    if (depth > JSON_DEPTH) refuse("too deep")
    first <- take()
    switch(first,
      "\"" = text_of(),
      "true" = TRUE,
      "false" = FALSE,
      "null" = NULL,
      "[" = {
        items("]", function() value(depth + 1L))
        structure(list(), class = "json_array") # no message has one that is looked into
      },
      "{" = {
        members <- list()
        items("}", function() {
          if (take() != "\"") refuse("no name")
          name <- text_of()
          if (take() != ":") refuse("no colon")
          member <- value(depth + 1L)
          if (length(name) && !any(name == as.raw(0L))) members[rawToChar(name)] <<- list(member) # others are unknown anyway
        })
        structure(members, class = "json_object")
      },
      if (grepl("^[-0-9]", first)) as.numeric(first) else refuse("no value")
    )
  }
  result <- value(1L)
  if (at != length(tokens)) refuse("there is more after the value")
  result
}

# Return a string's bytes with its escapes replaced. They are never longer than what they replace, so it is done in place.
unescape <- function(bytes) {
  starts <- escape_starts(bytes)
  if (!length(starts)) return(bytes)
  kind <- bytes[starts + 1L]
  drop <- rep(FALSE, length(bytes))
  known <- charToRaw("\"\\/bfnrt")
  simple <- match(kind, known)
  plain <- starts[!is.na(simple)]
  bytes[plain] <- as.raw(c(0x22, 0x5c, 0x2f, 0x08, 0x0c, 0x0a, 0x0d, 0x09))[simple[!is.na(simple)]]
  drop[plain + 1L] <- TRUE
  coded <- starts[is.na(simple)]
  if (any(kind[is.na(simple)] != as.raw(0x75L))) refuse("an escape that is none")
  if (length(coded)) {
    if (max(coded) + 5L > length(bytes)) refuse("half an escape")
    digits <- outer(coded, 2:5, `+`)
    hex <- matrix(match(bytes[digits], charToRaw("0123456789abcdefABCDEF")) - 1L, ncol = 4L)
    if (anyNA(hex)) refuse("no hexadecimal digit")
    hex <- ifelse(hex > 15L, hex - 6L, hex)
    code <- as.vector(hex %*% c(4096, 256, 16, 1))
    drop[digits] <- TRUE
    drop[coded + 1L] <- TRUE
    high <- code >= 0xd800 & code < 0xdc00
    low <- code >= 0xdc00 & code < 0xe000
    paired <- c(FALSE, high[-length(high)] & diff(coded) == 6L) # a low one right behind a high one
    if (any(low != paired) || sum(high) != sum(low)) refuse("half a character")
    code[high] <- 0x10000 + (code[high] - 0xd800) * 1024 + (code[low] - 0xdc00)
    drop[coded[low]] <- TRUE
    for (size in 1:4) {
      of_size <- which(!low & findInterval(code, c(0, 0x80, 0x800, 0x10000)) == size)
      for (place in seq_len(size)) {
        six <- code[of_size] %/% 64^(size - place) # what is left of it, with this byte's share as the last
        lead <- if (place > 1L) 0x80 else c(0, 0xc0, 0xe0, 0xf0)[size]
        bytes[coded[of_size] + place - 1L] <- as.raw(lead + if (place > 1L) six %% 64 else six)
        drop[coded[of_size] + place - 1L] <- FALSE
      }
    }
  }
  bytes[!drop]
}

# Return a named list as one line without its line feed. Members that are NULL are left out.
encode_json <- function(message) {
  message <- message[!vapply(message, is.null, NA)]
  members <- vapply(message, function(value) {
    if (is.list(value)) encode_json(value)
    else if (inherits(value, "base64")) paste0("\"", unclass(value), "\"")
    else if (is.character(value)) quote_json(value)
    else if (is.logical(value)) if (value) "true" else "false"
    else format(value, scientific = FALSE, digits = 16L)
  }, "")
  paste0("{", paste0("\"", names(message), "\":", members, collapse = ","), "}")
}

quote_json <- function(text) {
  text <- enc2utf8(text)
  if (!validUTF8(text)) text <- iconv(text, "UTF-8", "UTF-8", sub = "\ufffd")
  text <- gsub("\"", "\\\"", gsub("\\", "\\\\", text, fixed = TRUE), fixed = TRUE)
  if (grepl("[\001-\037]", text, perl = TRUE)) {
    for (code in 1:31) {
      text <- gsub(intToUtf8(code), sprintf("\\u%04x", code), text, fixed = TRUE)
    }
  }
  paste0("\"", text, "\"")
}

# Return bytes as base64, which base R cannot do either.
base64 <- function(bytes) {
  alphabet <- charToRaw("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  missing <- (3L - length(bytes) %% 3L) %% 3L
  triple <- matrix(as.integer(c(bytes, raw(missing))), nrow = 3L)
  word <- triple[1L, ] * 65536L + triple[2L, ] * 256L + triple[3L, ]
  digits <- rbind(word %/% 262144L, word %/% 4096L %% 64L, word %/% 64L %% 64L, word %% 64L)
  coded <- alphabet[digits + 1L]
  if (missing) coded[length(coded) - seq_len(missing) + 1L] <- as.raw(0x3dL)
  structure(rawToChar(coded), class = "base64")
}
