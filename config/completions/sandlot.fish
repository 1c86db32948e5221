# fish completion for sandlot

function __sandlot_providers
    sandlot providers 2>/dev/null | awk 'NR > 1 && $1 != "-" { print $1 }'
end

function __sandlot_ids
    sandlot list 2>/dev/null | awk 'NR > 1 { print $1 }'
end

set -l files read write edit ls grep glob rm upload download
set -l processes ps logs wait kill input
set -l works exec $processes shell $files mcp
set -l commands exec $processes shell $files cp create list delete gc mcp providers plugin doctor version help
set -l none "not __fish_seen_subcommand_from $commands"
set -l work "__fish_seen_subcommand_from $works"
set -l creates "__fish_seen_subcommand_from $works create"
set -l mcp '__fish_seen_subcommand_from mcp'

complete -c sandlot -f
complete -c sandlot -n $none -a exec -d 'run one command in a sandbox'
complete -c sandlot -n $none -a ps -d 'list background processes'
complete -c sandlot -n $none -a logs -d 'print what one has printed'
complete -c sandlot -n $none -a wait -d 'wait until one ends'
complete -c sandlot -n $none -a kill -d 'end background processes'
complete -c sandlot -n $none -a input -d 'write to the input of one'
complete -c sandlot -n $none -a shell -d 'an interactive terminal in a sandbox'
complete -c sandlot -n $none -a read -d 'print a page of a file'
complete -c sandlot -n $none -a write -d 'write standard input to a file'
complete -c sandlot -n $none -a edit -d 'replace text in a file'
complete -c sandlot -n $none -a ls -d 'list a directory'
complete -c sandlot -n $none -a grep -d 'search files for a text'
complete -c sandlot -n $none -a glob -d 'find files by a pattern'
complete -c sandlot -n $none -a rm -d 'remove a file or a directory'
complete -c sandlot -n $none -a upload -d 'copy files into the sandbox'
complete -c sandlot -n $none -a download -d 'copy files out of the sandbox'
complete -c sandlot -n $none -a cp -d 'copy into a sandbox, or out of it'
complete -c sandlot -n $none -a create -d 'make a sandbox that stays'
complete -c sandlot -n $none -a list -d 'list sandboxes'
complete -c sandlot -n $none -a delete -d 'end sandboxes'
complete -c sandlot -n $none -a gc -d 'delete what dead runs left behind'
complete -c sandlot -n $none -a mcp -d 'offer a sandbox to an agent'
complete -c sandlot -n $none -a providers -d 'list providers'
complete -c sandlot -n $none -a plugin -d 'write, check, install and remove providers'
complete -c sandlot -n $none -a doctor -d 'check this machine'
complete -c sandlot -n $none -a version -d 'print the version'
complete -c sandlot -n $none -a help -d 'print help'
complete -c sandlot -n '__fish_seen_subcommand_from help' -a "$commands"
complete -c sandlot -n '__fish_seen_subcommand_from providers' -a '(__sandlot_providers)'
complete -c sandlot -n '__fish_seen_subcommand_from plugin' -a 'new check install remove list'
complete -c sandlot -n '__fish_seen_subcommand_from plugin' -l language -x -a 'c c++ rust' -d 'what new writes it in'
complete -c sandlot -n '__fish_seen_subcommand_from plugin' -l directory -x -a '(__fish_complete_directories)' -d 'where new puts the project'
complete -c sandlot -n '__fish_seen_subcommand_from plugin' -l system -d 'for all users'
complete -c sandlot -n '__fish_seen_subcommand_from plugin' -l replace -d 'also if another file is lost'
complete -c sandlot -n '__fish_seen_subcommand_from plugin; and __fish_seen_subcommand_from remove' -l all -d 'all that the file provides'
complete -c sandlot -n '__fish_seen_subcommand_from plugin; and __fish_seen_subcommand_from check install' -F
complete -c sandlot -n '__fish_seen_subcommand_from delete' -a '(__sandlot_ids)'
complete -c sandlot -n '__fish_seen_subcommand_from upload download cp' -F

complete -c sandlot -l sandbox -x -a '(__sandlot_providers)' -d 'the provider'
complete -c sandlot -l param -x -d 'one parameter of the provider'
complete -c sandlot -l config -r -F -d 'the configuration file'
complete -c sandlot -n 'not __fish_seen_subcommand_from shell mcp' -l json -d 'one JSON object on standard output'
complete -c sandlot -s q -d 'errors only'
complete -c sandlot -s v -d 'more messages'
complete -c sandlot -s h -l help -d 'print help'
complete -c sandlot -l version -d 'print the version'
complete -c sandlot -n $creates -l sandbox-snapshot-name -x -d 'start from this snapshot'
complete -c sandlot -n $creates -l sandbox-setup -r -F -d 'run this script first'
complete -c sandlot -n $creates -l scope -x -d 'reuse the sandbox of this scope'
complete -c sandlot -n $work -l sandbox-id -x -a '(__sandlot_ids)' -d 'use this sandbox'
complete -c sandlot -n '__fish_seen_subcommand_from exec wait' -l timeout -x -d 'time limit'
complete -c sandlot -n '__fish_seen_subcommand_from exec shell' -l cwd -x -d 'where it starts'
complete -c sandlot -n '__fish_seen_subcommand_from exec shell' -s e -l env -x -d 'set a variable'
complete -c sandlot -n '__fish_seen_subcommand_from exec' -l stdin -d 'pass standard input through'
complete -c sandlot -n '__fish_seen_subcommand_from exec' -s d -l detach -d 'start it in the background'
complete -c sandlot -n '__fish_seen_subcommand_from exec' -l stdin-open -d 'input can feed it'
complete -c sandlot -n '__fish_seen_subcommand_from exec' -l log-limit -x -d 'MiB of output that are kept'
complete -c sandlot -n '__fish_seen_subcommand_from logs' -s f -l follow -d 'go on until it ends'
complete -c sandlot -n '__fish_seen_subcommand_from logs' -l from -x -d 'first byte'
complete -c sandlot -n '__fish_seen_subcommand_from logs' -l tail -x -d 'the last lines'
complete -c sandlot -n '__fish_seen_subcommand_from kill' -l signal -x -a 'TERM INT HUP QUIT USR1 USR2 STOP CONT KILL' -d 'only send this'
complete -c sandlot -n '__fish_seen_subcommand_from kill' -l grace -x -d 'time until KILL'
complete -c sandlot -n '__fish_seen_subcommand_from input' -l close -d 'then end its input'
complete -c sandlot -n '__fish_seen_subcommand_from read' -l offset -x -d 'lines to skip'
complete -c sandlot -n '__fish_seen_subcommand_from read' -l limit -x -d 'lines at most'
complete -c sandlot -n '__fish_seen_subcommand_from edit' -l old -x -d 'what is there'
complete -c sandlot -n '__fish_seen_subcommand_from edit' -l new -x -d 'what is to be there'
complete -c sandlot -n '__fish_seen_subcommand_from edit' -l replace-all -d 'every occurrence'
complete -c sandlot -n '__fish_seen_subcommand_from grep' -l glob -x -d 'only files that match'
complete -c sandlot -n '__fish_seen_subcommand_from grep' -l max-count -x -d 'lines at most'
complete -c sandlot -n '__fish_seen_subcommand_from glob' -l dirs -d 'directories too'
complete -c sandlot -n '__fish_seen_subcommand_from upload download cp' -s r -d 'directories too'
complete -c sandlot -n '__fish_seen_subcommand_from download cp logs' -l max-bytes -x -d 'of all files together'
complete -c sandlot -n '__fish_seen_subcommand_from list ps' -l all -d 'all there are'
complete -c sandlot -n '__fish_seen_subcommand_from delete' -l all -d 'all that you have made'
complete -c sandlot -n '__fish_seen_subcommand_from delete' -l if-exists -d 'what nobody knows counts as deleted'
complete -c sandlot -n '__fish_seen_subcommand_from delete' -l scope -x -d 'the sandbox of this scope'
complete -c sandlot -n '__fish_seen_subcommand_from gc' -l forget -x -d 'remove it from the ledger'
complete -c sandlot -n $mcp -l create -x -a 'lazy start' -d 'when the sandbox is made'
complete -c sandlot -n $mcp -l idle-timeout -x -d 'seconds without a message'
complete -c sandlot -n $mcp -l max-result-bytes -x -d 'of text in one result'
complete -c sandlot -n $mcp -l print-config -x -a 'claude codex cursor vscode langchain' -d 'what to write into a configuration'
complete -c sandlot -n $mcp -l http -x -d 'serve HTTP on this address'
complete -c sandlot -n $mcp -l port-file -r -F -d 'write the port here'
complete -c sandlot -n $mcp -l token-file -r -F -d 'the bearer token'
complete -c sandlot -n $mcp -l allow-origin -x -d 'serve pages of this origin'
complete -c sandlot -n $mcp -l no-auth -d 'demand no token'
