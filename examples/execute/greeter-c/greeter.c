#include "json.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROTOCOL "rterm.plugin.v1"
#define MAX_LINE 1048576
#define READ_WAIT_MS 250 /* half of what a host gives us to exit */

static _Noreturn void die(const char *why)
{
    fprintf(stderr, "greeter-c: %s\n", why);
    exit(1);
}

/* Reads one message; the end of the input between two lines is the quiet end
 * of this process. The text it points into is that of the latest line. */
static json read_message(const char *type)
{
    static char line[MAX_LINE + 1];
    size_t size = 0;
    int c;
    while ((c = getchar()) != EOF && c != '\n') {
        if (size == MAX_LINE)
            die("a line is too long");
        line[size++] = (char)c;
    }
    if (c == EOF) {
        if (ferror(stdin))
            die("cannot read the input");
        if (size > 0)
            die("the input ended inside a line");
        exit(0);
    }
    line[size] = '\0';

    json message;
    if (!json_parse(line, size, &message) || json_kind(message) != '{')
        die("a line is not a JSON object");
    if (!json_is(json_member(message, "type"), type))
        die("a message is not of the type that is due");
    return message;
}

/* One line to send. It is built as a whole before its first byte is written,
 * so that one which grows too long can still become an error. */
static struct {
    char text[MAX_LINE + 1];
    size_t size;
    bool full;
} out;

static void put(const char *bytes, size_t size)
{
    if (size > MAX_LINE - out.size) {
        out.full = true;
        return;
    }
    memcpy(out.text + out.size, bytes, size);
    out.size += size;
}

static void put_text(const char *text)
{
    put(text, strlen(text));
}

/* The characters of a string value, without the quotes around them. */
static void put_characters(json string)
{
    char utf8[4], escape[7];
    int size;
    for (const char *at = string.at + 1; (size = json_char(&at, utf8)) > 0;) {
        if (utf8[0] == '"' || utf8[0] == '\\') {
            put("\\", 1);
        } else if ((unsigned char)utf8[0] < 0x20) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)utf8[0]);
            put_text(escape);
            continue;
        }
        put(utf8, (size_t)size);
    }
}

static void put_number(double number)
{
    char digits[32];
    /* The fewest digits that read back as the same number: 0.1 and not
     * 0.10000000000000001. */
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    put_text(digits);
}

static void send_line(void)
{
    out.text[out.size++] = '\n';
    if (fwrite(out.text, 1, out.size, stdout) != out.size || fflush(stdout) != 0)
        die("cannot write to the host");
    out.size = 0;
}

/* A host closes our input once it has read the answer. Some stop reading as
 * soon as we are gone, and would lose an answer that is still in the pipe. */
static void wait_until_read(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    poll(&input, 1, READ_WAIT_MS);
}

static void begin_response(json request_id, const char *status)
{
    out.size = 0;
    out.full = false;
    put_text("{\"type\":\"response\",\"request_id\":\"");
    put_characters(request_id);
    put_text("\",\"status\":\"");
    put_text(status);
    put_text("\",");
}

/* Code and message are constants of this file that need no escapes. */
static void error_response(json request_id, const char *code, const char *message)
{
    begin_response(request_id, "error");
    put_text("\"error\":{\"code\":\"");
    put_text(code);
    put_text("\",\"message\":\"");
    put_text(message);
    put_text("\"}}");
}

static void greet(json request_id, json input)
{
    json name = json_member(input, "name");
    if (json_kind(name) != '"' || json_is(name, "")) {
        error_response(request_id, "invalid_input", "name must be a non-empty string");
        return;
    }
    begin_response(request_id, "ok");
    put_text("\"output\":{\"text\":\"Hello ");
    put_characters(name);
    put_text("\"}}");
}

static void add(json request_id, json input)
{
    json numbers = json_member(input, "numbers"), item = {NULL, NULL};
    double sum = 0;
    bool valid = json_kind(numbers) == '[';
    while (valid && json_next(numbers, &item)) {
        valid = json_kind(item) == '0';
        if (valid)
            sum += json_number(item);
    }
    if (!valid || !isfinite(sum)) {
        error_response(request_id, "invalid_input",
                       "numbers must be a list of numbers in the range of a double");
        return;
    }
    begin_response(request_id, "ok");
    put_text("\"output\":{\"sum\":");
    put_number(sum);
    put_text("}}");
}

int main(void)
{
#ifdef SIGPIPE
    /* A host that went away is then an error of fwrite and not a death by signal. */
    signal(SIGPIPE, SIG_IGN);
#endif
    json hello = read_message("handshake");
    if (!json_is(json_member(hello, "protocol_version"), PROTOCOL))
        die("the host does not speak " PROTOCOL);
    put_text("{\"type\":\"handshake\",\"manifest\":{\"plugin_id\":\"greeter-c\","
             "\"plugin_version\":\"1.0.0\",\"protocol_version\":\"" PROTOCOL "\","
             "\"exposed_tools\":[\"greet\",\"add\"]}}");
    send_line();

    json request = read_message("request");
    json id = json_member(request, "request_id");
    json tool = json_member(request, "tool_name");
    json input = json_member(request, "input");
    if (json_kind(id) != '"' || json_kind(tool) != '"')
        die("request_id and tool_name must be strings");
    if (json_is(tool, "greet"))
        greet(id, input);
    else if (json_is(tool, "add"))
        add(id, input);
    else
        error_response(id, "unknown_tool", "the tools are greet and add");
    if (out.full)
        error_response(id, "output_too_large", "the response is longer than a line may be");
    if (out.full)
        die("the request_id leaves no room for a response");
    send_line();
    wait_until_read();
    return 0;
}
