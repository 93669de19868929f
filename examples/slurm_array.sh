#!/bin/sh
# slurm_array.sh: encodes a corpus to one file of tokens with Slurm: an array of jobs, a part each, then a job that joins.
#
#     INPUTS='corpus/ --jsonl text --eot id' OUTPUT=train.bin PARTS=64 sh slurm_array.sh
#
# INPUTS are words of `heft encode`, without blanks within a word; OUTPUT and the corpus are on a file system that all
# nodes share. FORMAT is that of the tokens (by the extension of OUTPUT if absent). The joined file is what one process
# would have written, byte for byte. A node that dies has its parts queued again (--requeue); parts that have failed
# are repeated by sbatch --array=3,17 with the same variables and the argument `part`.
set -eu
: "${INPUTS:?}" "${OUTPUT:?}" "${PARTS:?}" "${FORMAT:=}"
export INPUTS OUTPUT PARTS FORMAT

part_path() { # number
    printf '%s.parts/%06d.%s' "$OUTPUT" "$1" "${OUTPUT##*.}"
}

submit() {
    mkdir -p "$OUTPUT.parts"
    array=$(sbatch --parsable --job-name=heft-encode --array="1-$PARTS" --cpus-per-task=1 --requeue "$0" part)
    sbatch --parsable --job-name=heft-join --dependency="afterok:${array%%;*}" --kill-on-invalid-dep=yes "$0" join
}

# -f: a job that was queued again may find the part that it had finished.
encode_part() { # number
    # shellcheck disable=SC2086
    heft encode $INPUTS ${FORMAT:+--format "$FORMAT"} --sort -j 1 -f -q --part "$1/$PARTS" -o "$(part_path "$1")"
}

join_parts() {
    set --
    number=1
    while [ "$number" -le "$PARTS" ]; do
        set -- "$@" "$(part_path "$number")"
        number=$((number + 1))
    done
    heft join "$@" ${FORMAT:+--format "$FORMAT"} -o "$OUTPUT" -q
    rm -r "$OUTPUT.parts"
}

case ${1-submit} in
submit) submit ;;
part) encode_part "$SLURM_ARRAY_TASK_ID" ;;
join) join_parts ;;
*) echo "slurm_array.sh: unknown argument $1" >&2 && exit 2 ;;
esac
