# shellcheck shell=bash disable=SC2034
# Sourced: the emulator's key and no other, whatever the machine that this runs on has.
for name in $(compgen -v | grep '^AWS_\|^SANDLOT_AWS_'); do unset "$name"; done
secret=emulated/secret+key0123456789abcdefghijk
export AWS_ACCESS_KEY_ID=AKIDEMULATED00000001 AWS_SECRET_ACCESS_KEY=$secret AWS_EC2_METADATA_DISABLED=true
