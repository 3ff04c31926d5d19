# A plugin of the duplex contract in raw bytes: it starts in a millisecond or two, and decodes nothing.
#
#     perl listener.pl NAME
#
# An action is answered with its own payload. Every event is answered by a publish of `bench.heard`, every key by one
# of `bench.pressed`.
use strict;
use warnings;

my ($name) = @ARGV;
my $buffer = '';

sub more { sysread(STDIN, $buffer, 65_536, length $buffer) or exit 0 }

sub receive {
    my $at;
    more() while ($at = index $buffer, "\r\n\r\n") < 0;
    my ($size) = substr($buffer, 0, $at) =~ /^Content-Length: *(\d+)$/i or die 'no frame';
    substr($buffer, 0, $at + 4) = '';
    more() while length $buffer < $size;
    return substr $buffer, 0, $size, '';
}

sub tell_host {
    my $body = '{"jsonrpc":"2.0",' . $_[0] . '}';
    my $frame = 'Content-Length: ' . length($body) . "\r\n\r\n$body";
    my $at = 0;
    $at += syswrite STDOUT, $frame, length($frame) - $at, $at while $at < length $frame;
}

my %words = ('plugin/handle_event' => 'bench.heard', 'plugin/handle_key' => 'bench.pressed');

while (1) {
    my $message = receive();
    my ($method) = $message =~ /"method": *"([^"]+)"/;
    if (my $topic = $words{$method}) {
        tell_host(qq("method":"host/snapshot/publish","params":{"topic":"$topic","payload":""}));
        next;
    }
    my ($id) = $message =~ /"id": *(\d+)/ or next;
    my $result = '{}';
    $result = qq({"name":"$name","version":"1.0.0"}) if $method eq 'plugin/init';
    $result = qq({"payload":"$1"}) if $method eq 'host/action/invoke' && $message =~ /"payload": *"([^"]*)"/;
    tell_host(qq("id":$id,"result":$result));
}
