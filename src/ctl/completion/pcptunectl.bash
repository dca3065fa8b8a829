# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for pcptunectl(1)

_pcptunectl_options() {
    case $1 in
    status | verify | recommend) echo --json --config= --address= --no-pager ;;
    top) echo --address= ;;
    events) echo --json --since= --follow --address= --no-pager ;;
    explain | config) echo --json --config= --no-pager ;;
    mode | re-arm | restore | reload) echo --json --address= ;;
    *) echo --version ;;
    esac
    echo --help
}

_pcptunectl() {
    local verbs="status top events recommend explain config verify mode re-arm restore reload"
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb="" words i

    # bash takes --config=FILE for three words.
    if [[ $cur == = ]]; then
        cur=""
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} != -* && ${COMP_WORDS[i]} != = && ${COMP_WORDS[i - 1]} != = ]] || continue
        verb=${COMP_WORDS[i]}
        break
    done
    [[ $cur != -* ]] || before=""
    case $before in
    --config)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --address) words="unix:path=/run/pcptuned/bus system" ;;
    --since) words="10min 1h today yesterday" ;;
    mode) words="apply dry-run off" ;;
    *)
        words=$(_pcptunectl_options "$verb")
        [[ -n $verb ]] || words+=" $verbs"
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -F _pcptunectl pcptunectl
