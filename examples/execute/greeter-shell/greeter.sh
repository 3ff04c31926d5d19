#!/bin/sh
# A plugin in the POSIX shell and awk. Its limits, besides those of json.awk: a
# NUL byte in a line goes unnoticed; read takes a system call per byte, so that
# a line of 1 MiB takes about a second; and a shell whose printf is not built
# in can pass on no line beyond 128 KiB.

# Count bytes and not characters, in the shell as well as in awk.
LC_ALL=C
export LC_ALL
# A host that went away is then an error of printf and not a death by signal.
trap '' PIPE
# Unquoted variables are split below, but are never file name patterns.
set -f

PROTOCOL=rterm.plugin.v1
MAX_LINE=1048576
newline='
'

fail() {
    printf 'greeter-shell: %s\n' "$1" >&2
    exit 1
}

# Sets line. The end of the input between two lines is the quiet end of this
# process.
read_line() {
    if ! IFS= read -r line; then
        [ -z "$line" ] || fail 'the input ended inside a line'
        exit 0
    fi
    [ "${#line}" -le "$MAX_LINE" ] || fail "a line is longer than $MAX_LINE bytes"
}

# members OBJECT NAME...: sets json_NAME to the JSON text of each member, to
# nothing where there is none. Fails if it is no object. The host runs a plugin
# in its own folder, where json.awk is.
members() {
    object=$1
    shift
    for key in "$@"; do
        eval "json_$key="
    done
    found=$(printf '%s\n' "$object" | awk -v want="$*" -f json.awk) || return 1
    IFS=$newline
    key=
    for text in $found; do
        if [ -z "$key" ]; then
            key=$text
        else
            # Safe, as the key can only be one of our own arguments.
            eval "json_$key=\$text"
            key=
        fi
    done
    unset IFS
}

send() {
    printf '%s\n' "$1" 2>/dev/null || fail 'cannot write to the host'
}

# A host closes our input once it has read the answer. Some stop reading as soon
# as we are gone, and would lose an answer that is still in the pipe. Half of
# what a host gives us to exit is waited, where there is a timeout command.
wait_until_read() {
    timeout --foreground 0.25 cat >/dev/null 2>&1
}

# respond STATUS KEY JSON
respond() {
    response="{\"type\":\"response\",\"request_id\":$json_request_id,\"status\":\"$1\",\"$2\":$3}"
    if [ "${#response}" -gt "$MAX_LINE" ]; then
        [ "$1" = ok ] || fail 'the request_id leaves no room for a response'
        respond_error output_too_large "the response is longer than $MAX_LINE bytes"
    fi
    send "$response"
    wait_until_read
    exit 0
}

# respond_error CODE MESSAGE: both without a character that JSON escapes.
respond_error() {
    respond error error "{\"code\":\"$1\",\"message\":\"$2\"}"
}

greet() {
    members "$json_input" name
    # Patterns stay this simple on purpose: one that must search a long text,
    # such as ${name##*x}, takes some shells minutes.
    case $json_name in
        '""' | [!\"]* | '') respond_error invalid_input 'name must be a non-empty string' ;;
    esac
    # Still JSON: its escapes and its closing quote serve the output as they are.
    respond ok output "{\"text\":\"Hello ${json_name#?}}"
}

add() {
    members "$json_input" numbers
    case $json_numbers in
        '['*) ;;
        *) respond_error invalid_input 'numbers must be a list' ;;
    esac
    numbers=${json_numbers#?}
    numbers=${numbers%?}
    # What JSON allows of these characters is a list of numbers.
    case $numbers in
        *[!0-9,.eE+-]*) respond_error invalid_input 'numbers must hold numbers only' ;;
    esac
    # In awk, because the shell has no fractions. It prints the fewest digits
    # that read back as the same number, and fails on an infinite one.
    sum=$(printf '%s\n' "$numbers" | awk -v RS=, '
        { sum += $1 }
        END {
            for (digits = 15; digits <= 17; digits++) {
                text = sprintf("%." digits "g", sum)
                if (text + 0 == sum)
                    break
            }
            print text
            exit text ~ /n/
        }') || respond_error invalid_input 'the sum is beyond the range of a double'
    respond ok output "{\"sum\":$sum}"
}

read_line
members "$line" type protocol_version || fail 'a line is not a JSON object'
[ "$json_type" = '"handshake"' ] || fail 'the first line is not a handshake'
[ "$json_protocol_version" = "\"$PROTOCOL\"" ] || fail "the host does not speak $PROTOCOL"
send "{\"type\":\"handshake\",\"manifest\":{\"plugin_id\":\"greeter-shell\",\
\"plugin_version\":\"1.0.0\",\"protocol_version\":\"$PROTOCOL\",\
\"exposed_tools\":[\"greet\",\"add\"]}}"

read_line
members "$line" type request_id tool_name input || fail 'a line is not a JSON object'
[ "$json_type" = '"request"' ] || fail 'the second line is not a request'
case $json_request_id in '"'*) ;; *) fail 'request_id must be a string' ;; esac
case $json_tool_name in
    '"greet"') greet ;;
    '"add"') add ;;
    '"'*) respond_error unknown_tool 'the tools are greet and add' ;;
    *) fail 'tool_name must be a string' ;;
esac
