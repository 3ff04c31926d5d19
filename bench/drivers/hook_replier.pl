# A provider in raw bytes: it starts in a millisecond or two, decodes nothing, and answers from memory.
#
#     perl hook_replier.pl INFO FRAGMENT WAIT
#
# INFO is what it introduces itself with, and FRAGMENT a result of one fragment, both in hexadecimal. Plan is
# answered with nothing. Generate is answered after WAIT seconds, with as many fragments as make the reply as long
# as the request, but at least one; an empty FRAGMENT makes every reply empty.
use strict;
use warnings;

my ($info, $fragment, $wait) = @ARGV;
$_ = pack 'H*', $_ for $info, $fragment;
my %replies;    # by the number of fragments: making one is not to be timed with every request

sub take {
    my ($size) = @_;
    my $body = '';
    while (length $body < $size) {
        sysread(STDIN, $body, $size - length $body, length $body) or exit 0;
    }
    return $body;
}

sub receive { return length take(unpack 'N', take(4)) }

sub answer {
    my $frame = pack('N', length $_[0]) . $_[0];
    my $at = 0;
    $at += syswrite STDOUT, $frame, length($frame) - $at, $at while $at < length $frame;
}

sub reply {
    my ($size) = @_;
    return '' unless length $fragment;
    my $count = int($size / length $fragment) || 1;
    return $replies{$count} //= $fragment x $count;
}

receive();
answer($info);
while (1) {
    receive();
    answer('');
    my $size = receive();
    select undef, undef, undef, $wait if $wait;
    answer(reply($size));
}
