# fish completion for sandlot

function __sandlot_providers
    sandlot providers 2>/dev/null | awk 'NR > 1 && $1 != "-" { print $1 }'
end

set -l commands exec create list delete gc providers doctor help
set -l none "not __fish_seen_subcommand_from $commands"
set -l creates "__fish_seen_subcommand_from exec create"

complete -c sandlot -f
complete -c sandlot -n $none -a exec -d 'run one command in a sandbox'
complete -c sandlot -n $none -a create -d 'make a sandbox that stays'
complete -c sandlot -n $none -a list -d 'list sandboxes'
complete -c sandlot -n $none -a delete -d 'end sandboxes'
complete -c sandlot -n $none -a gc -d 'delete what dead runs left behind'
complete -c sandlot -n $none -a providers -d 'list providers'
complete -c sandlot -n $none -a doctor -d 'check this machine'
complete -c sandlot -n $none -a help -d 'print help'
complete -c sandlot -n '__fish_seen_subcommand_from help' -a "$commands"
complete -c sandlot -n '__fish_seen_subcommand_from providers' -a '(__sandlot_providers)'

complete -c sandlot -l sandbox -x -a '(__sandlot_providers)' -d 'the provider'
complete -c sandlot -l param -x -d 'one parameter of the provider'
complete -c sandlot -l config -r -F -d 'the configuration file'
complete -c sandlot -l json -d 'one JSON object on standard output'
complete -c sandlot -s q -d 'errors only'
complete -c sandlot -s v -d 'more messages'
complete -c sandlot -l help -d 'print help'
complete -c sandlot -l version -d 'print the version'
complete -c sandlot -n $creates -l sandbox-snapshot-name -x -d 'start from this snapshot'
complete -c sandlot -n $creates -l sandbox-setup -r -F -d 'run this script first'
complete -c sandlot -n $creates -l scope -x -d 'reuse the sandbox of this scope'
complete -c sandlot -n '__fish_seen_subcommand_from exec' -l sandbox-id -x -d 'use this sandbox'
complete -c sandlot -n '__fish_seen_subcommand_from exec' -l timeout -x -d 'seconds'
complete -c sandlot -n '__fish_seen_subcommand_from exec' -l cwd -x -d 'where it starts'
complete -c sandlot -n '__fish_seen_subcommand_from exec' -l env -x -d 'set a variable'
complete -c sandlot -n '__fish_seen_subcommand_from exec' -l stdin -d 'pass standard input through'
complete -c sandlot -n '__fish_seen_subcommand_from list' -l all -d 'of every provider'
