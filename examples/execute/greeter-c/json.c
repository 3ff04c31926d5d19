#include "json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 128 };

/* The skip functions return the place behind what they skip, or NULL if it is
 * not well-formed. The 0 behind the text is part of no token, so that none of
 * them runs past it. */
static const char *skip_value(const char *at, int depth);

static const char *skip_space(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *at)
{
    if (!is_digit(*at))
        return NULL;
    while (is_digit(*at))
        at++;
    return at;
}

static const char *skip_number(const char *at)
{
    if (*at == '-')
        at++;
    at = *at == '0' ? at + 1 : skip_digits(at);
    if (at && *at == '.')
        at = skip_digits(at + 1);
    if (at && (*at == 'e' || *at == 'E')) {
        at++;
        if (*at == '+' || *at == '-')
            at++;
        at = skip_digits(at);
    }
    return at;
}

/* The size of the UTF-8 character at a place, -1 if it is none. */
static int utf8_size(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    if (c[0] < 0x80)
        return 1;
    if (c[0] < 0xC2 || c[0] > 0xF4)
        return -1;
    int size = c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
    /* The second byte decides on overlong forms, surrogates and > U+10FFFF. */
    unsigned char low = c[0] == 0xE0 ? 0xA0 : c[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = c[0] == 0xED ? 0x9F : c[0] == 0xF4 ? 0x8F : 0xBF;
    if (c[1] < low || c[1] > high)
        return -1;
    for (int i = 2; i < size; i++)
        if ((c[i] & 0xC0) != 0x80)
            return -1;
    return size;
}

static int utf8_write(uint32_t c, char out[4])
{
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    int size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = size - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(lead[size] | c);
    return size;
}

/* The four digits behind a \u; -1 if they are none. */
static int32_t hex4(const char *at)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = is_digit(c) ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* -1 where the string is not well-formed. */
int json_char(const char **at, char utf8[4])
{
    const char *p = *at;
    if (*p == '"')
        return 0;
    if ((unsigned char)*p < 0x20)
        return -1;
    if (*p != '\\') {
        int size = utf8_size(p);
        if (size < 0)
            return -1;
        memcpy(utf8, p, (size_t)size);
        *at = p + size;
        return size;
    }
    if (p[1] != 'u') {
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *found = p[1] ? strchr(from, p[1]) : NULL;
        if (!found)
            return -1;
        utf8[0] = to[found - from];
        *at = p + 2;
        return 1;
    }
    int32_t c = hex4(p + 2);
    if (c < 0)
        return -1;
    *at = p + 6;
    if (c >= 0xD800 && c < 0xE000) {
        int32_t low = c < 0xDC00 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
        if (low >= 0xDC00 && low < 0xE000) {
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
            *at = p + 12;
        } else {
            c = 0xFFFD;
        }
    }
    return utf8_write((uint32_t)c, utf8);
}

static const char *skip_string(const char *at)
{
    char utf8[4];
    int size;
    if (*at++ != '"')
        return NULL;
    while ((size = json_char(&at, utf8)) > 0)
        ;
    return size < 0 ? NULL : at + 1;
}

static const char *skip_container(const char *at, int depth)
{
    char close = *at == '{' ? '}' : ']';
    if (depth == MAX_DEPTH)
        return NULL;
    at = skip_space(at + 1);
    if (*at == close)
        return at + 1;
    for (;;) {
        if (close == '}') {
            if (!(at = skip_string(at)))
                return NULL;
            at = skip_space(at);
            if (*at++ != ':')
                return NULL;
            at = skip_space(at);
        }
        if (!(at = skip_value(at, depth + 1)))
            return NULL;
        at = skip_space(at);
        if (*at == close)
            return at + 1;
        if (*at++ != ',')
            return NULL;
        at = skip_space(at);
    }
}

static const char *skip_value(const char *at, int depth)
{
    switch (*at) {
    case '{':
    case '[': return skip_container(at, depth);
    case '"': return skip_string(at);
    case 't': return strncmp(at, "true", 4) ? NULL : at + 4;
    case 'f': return strncmp(at, "false", 5) ? NULL : at + 5;
    case 'n': return strncmp(at, "null", 4) ? NULL : at + 4;
    default: return skip_number(at);
    }
}

bool json_parse(const char *text, size_t size, json *value)
{
    value->at = skip_space(text);
    value->end = skip_value(value->at, 0);
    return value->end && skip_space(value->end) == text + size;
}

char json_kind(json value)
{
    if (!value.at)
        return '\0';
    return *value.at == '-' || is_digit(*value.at) ? '0' : *value.at;
}

json json_member(json object, const char *name)
{
    json found = {NULL, NULL};
    if (json_kind(object) != '{')
        return found;
    const char *at = skip_space(object.at + 1);
    while (*at != '}') {
        json key = {at, skip_string(at)}, value;
        value.at = skip_space(skip_space(key.end) + 1);
        value.end = skip_value(value.at, 0);
        if (json_is(key, name))
            found = value;
        at = skip_space(value.end);
        if (*at == ',')
            at = skip_space(at + 1);
    }
    return found;
}

bool json_next(json array, json *item)
{
    const char *at = skip_space(item->at ? item->end : array.at + 1);
    if (*at == ',')
        at = skip_space(at + 1);
    if (*at == ']')
        return false;
    item->at = at;
    item->end = skip_value(at, 0);
    return true;
}

double json_number(json number)
{
    return strtod(number.at, NULL);
}

bool json_is(json value, const char *text)
{
    char utf8[4];
    int size;
    if (json_kind(value) != '"')
        return false;
    for (const char *at = value.at + 1; (size = json_char(&at, utf8)) > 0; text++)
        if (size != 1 || utf8[0] != *text || *text == '\0')
            return false;
    return *text == '\0';
}
