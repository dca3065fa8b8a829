# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for pcptunectl(1)

set -l verbs status top events recommend explain config verify mode re-arm restore reload
set -l none "not __fish_seen_subcommand_from $verbs"
set -l json status events recommend explain config verify mode re-arm restore reload
set -l config status recommend explain config verify
set -l address status top events recommend verify mode re-arm restore reload
set -l pager status events recommend explain config verify

complete -c pcptunectl -f
complete -c pcptunectl -n $none -a status -d "is it working: mode, knobs, signals, storms"
complete -c pcptunectl -n $none -a top -d "the same live, with the wait and the page lists"
complete -c pcptunectl -n $none -a events -d "what it did and why, and whose container it was"
complete -c pcptunectl -n $none -a recommend -d "what to set here and why, ready to paste"
complete -c pcptunectl -n $none -a explain -d "each zone from its pages to the wait W, step by step"
complete -c pcptunectl -n $none -a config -d "each setting: value, default, who set it over whom"
complete -c pcptunectl -n $none -a verify -d "does the machine stand as believed; for scripts"
complete -c pcptunectl -n $none -a mode -d "tune, only report, or do nothing"
complete -c pcptunectl -n $none -a re-arm -d "take up knobs again that were left to others"
complete -c pcptunectl -n $none -a restore -d "give the knobs' original values back now"
complete -c pcptunectl -n $none -a reload -d "read the configuration again"

complete -c pcptunectl -n "__fish_seen_subcommand_from mode; and not __fish_seen_subcommand_from apply dry-run off" -a "apply dry-run off"
complete -c pcptunectl -n "__fish_seen_subcommand_from $json" -l json -d "JSON on standard output"
complete -c pcptunectl -n "__fish_seen_subcommand_from $config" -l config -r -F -d "instead of /etc/pcptuned/pcptuned.conf"
complete -c pcptunectl -n "__fish_seen_subcommand_from $address" -l address -x -a "unix:path=/run/pcptuned/bus system" -d "where pcptuned listens"
complete -c pcptunectl -n "__fish_seen_subcommand_from $pager" -l no-pager -d "not through \$PAGER"
complete -c pcptunectl -n "__fish_seen_subcommand_from events" -l since -x -a "10min 1h today yesterday" -d "only events since then"
complete -c pcptunectl -n "__fish_seen_subcommand_from events" -l follow -d "then wait for what happens"
complete -c pcptunectl -l help -s h -d "what there is; after a verb: what it takes"
complete -c pcptunectl -n $none -l version -d "of pcptunectl"
