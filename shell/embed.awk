# Makes C of a shell script that is sent to sandboxes: awk -v shared=shell/box.sh -f shell/embed.awk SCRIPT.sh >SCRIPT.c
#
# A line "#= NAME" begins a section, which becomes the string NAME of SCRIPT.h; "#= NAME VARIABLE" makes it a command that
# assigns its text to VARIABLE. A line "#+ NAME" stands for that section of SHARED. Comments, indentation and blank lines stay behind: they would travel with every command.
# So no text of a script may run over the end of a line into one that begins with a blank or a "#". A line "#< FILE", in a word in single
# quotes, stands for a program in another language, whose indentation stays.

function escaped(text, quoted, out, i, c) {
    out = ""
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "\\" || c == "\"")
            c = "\\" c
        else if (c == "'" && quoted)
            c = "'\\\\''"
        out = out c
    }
    return out
}

function add(line) {
    sub(/^[ \t]+/, "", line)
    if (line != "" && line !~ /^#/)
        print "    \"" escaped(line, variable) "\\n\""
}

# The section NAME of the shared file.
function take(name, line, inside, found) {
    while ((getline line < shared) > 0) {
        if (line ~ /^#= /)
            inside = substr(line, 4) == name
        else if (inside)
            add(line)
        found = found || inside
    }
    close(shared)
    if (found)
        return
    print FILENAME ":" NR ": " shared " has no section " name >"/dev/stderr"
    failed = 1
    exit 1
}

# The program FILE.
function read_program(file, line, got) {
    while ((got = (getline line < file)) > 0) {
        if (line ~ /^[ \t]*(#|$)/)
            continue
        if (line ~ /'/)
            break
        print "    \"" escaped(line, variable) "\\n\""
    }
    close(file)
    if (got == 0)
        return
    print FILENAME ":" NR ": " file (got < 0 ? " cannot be read" : " has a single quote in it") >"/dev/stderr"
    failed = 1
    exit 1
}

function finish() {
    if (section)
        print (variable ? "    \"'\\n\"" : "   ") ";"
}

NR == 1 {
    name = FILENAME
    sub(/^.*\//, "", name)
    sub(/\.sh$/, "", name)
    print "/* Made of " name ".sh. */"
    print "#include \"" name ".h\""
}

/^#= / {
    finish()
    section = $2
    variable = $3
    print ""
    print "const char " section "[] ="
    if (variable)
        print "    \"" variable "='\\n\""
    next
}

/^#\+ / && section {
    take($2)
    next
}

/^#< / && section {
    read_program($2)
    next
}

/^[ \t]*(#|$)/ { next }

!section {
    print FILENAME ":" NR ": this is in no section" >"/dev/stderr"
    failed = 1
    exit 1
}

{ add($0) }

END {
    if (!failed)
        finish()
}
