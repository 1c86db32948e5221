# Makes C of a shell script, for what the helper library sends to sandboxes: awk -f embed.awk SCRIPT.sh >SCRIPT.c
#
# A line "#= NAME" begins a section, which becomes the string NAME of SCRIPT.h; "#= NAME VARIABLE" makes it a command that
# assigns its text to VARIABLE. Comments, indentation and blank lines stay behind: they would travel with every command.
# So no text of a script may run over the end of a line into one that begins with a blank or a "#".

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

{ sub(/^[ \t]+/, "") }

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

/^$/ || /^#/ { next }

!section {
    print FILENAME ":" NR ": this is in no section" >"/dev/stderr"
    failed = 1
    exit 1
}

{ print "    \"" escaped($0, variable) "\\n\"" }

END {
    if (!failed)
        finish()
}
