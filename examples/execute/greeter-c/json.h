/* A small JSON reader that allocates nothing: a value is a view into the text
 * it was parsed from, and is only as long-lived as that text. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *at, *end;   /* at is NULL where there is no value */
} json;

/* Checks the whole text: UTF-8, grammar, at most 128 levels of nesting. All
 * other functions rely on it and check nothing again. text[size] must be 0. */
bool json_parse(const char *text, size_t size, json *value);

/* What the value begins with, one of { [ " t f n; '0' for every number; '\0'
 * where there is no value. */
char json_kind(json value);

/* The last member of that name; no value if there is none, or no object. */
json json_member(json object, const char *name);

/* Walks an array: start with an item whose at is NULL. */
bool json_next(json array, json *item);

double json_number(json number);

/* Whether the value is a string that equals an ASCII text. */
bool json_is(json value, const char *text);

/* Walks a string: *at starts behind the opening quote (value.at + 1). Writes
 * the next character in UTF-8 and returns its size, 0 at the closing quote.
 * An escaped half of a surrogate pair, which has no UTF-8, reads as U+FFFD. */
int json_char(const char **at, char utf8[4]);

#endif
