# Standard input and output are a connection to the port $ARGV[1] of $ARGV[0]; it ends with the server's side.
use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6);

my ($at, $port) = @ARGV;
my $six = $at =~ /:/;
my $address = $six ? pack_sockaddr_in6($port, inet_pton(AF_INET6, $at)) : pack_sockaddr_in($port, inet_aton($at));

socket(my $server, $six ? AF_INET6 : AF_INET, SOCK_STREAM, 0) or die;
connect($server, $address) or die;

sub carry {
    my ($from, $to) = @_;
    while (sysread($from, my $data, 65536)) {
        while (length $data) {
            substr($data, 0, syswrite($to, $data) || exit) = "";
        }
    }
}

my $child = fork // die;
if (!$child) {
    carry(*STDIN, $server);
    shutdown($server, 1);
    exit;
}
carry($server, *STDOUT);
kill KILL => $child;
