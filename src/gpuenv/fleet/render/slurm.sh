#!/bin/bash
# Made by gpuenv: makes an environment on each node of a job, and proves it there on the node's GPUs.
#
#     sbatch -p PARTITION -N NODES --gres=gpu:1 [OPTION_OF_SBATCH ...] THIS_FILE [--force] [NAME]
#
# It needs Python 3.8 or newer on the nodes, and no gpuenv. Nodes that share a home make the environment once; one
# that is there already stays as it is, and --force replaces one that was created from another plan. The job sees the
# GPUs it asks for; to prove all of a node, ask for all. Its output has a line for each node; the job fails where a
# node did. GPUENV_DATA_DIR and other variables reach the nodes as sbatch's --export says.
#SBATCH --job-name=gpuenv
#SBATCH --ntasks-per-node=1
# shellcheck disable=SC2317 # the functions before `fail` are filled in

set -uf

# >>> what is asked for
made_by='gpuenv 0.0.0'
name='torch'

group_of() { case $1 in *) echo 1 ;; esac }

suffix_of() { echo "$1"; }

request() { echo '{}'; }

shell_text() { echo; }

python_text() { echo; }

program() { echo; }
# <<< what is asked for

fail() {
    echo "error: $1" >&2
    exit 2
}

force=false
if [ "${1-}" = --force ]; then
    force=true
    shift
fi
name=${1:-$name}
[ $# -le 1 ] || fail "usage: sbatch [OPTION ...] THIS_FILE [--force] [NAME]"
case $name in
    '' | .* | -* | +* | *[!A-Za-z0-9._+-]*) fail "$name is not a valid environment name" ;;
esac
[ -n "${SLURM_JOB_NODELIST-}" ] || fail "this is for a job: sbatch -p PARTITION -N NODES THIS_FILE [NAME]"

# One stdin for the program: what comes later in the object is what only this job knows.
told() { # GROUP
    printf '{"also": {"name": "%s", "force": %s}, "request": ' "$name$(suffix_of "$1")" "$force"
    request "$1"
    printf ', "program": "'
    program
    printf '"}'
}

serve() { # HOST GROUP
    local action
    for action in create verify; do
        told "$2" | srun --nodes=1 --ntasks=1 --nodelist="$1" --input=all --output=all --error=all --mpi=none --chdir=/ \
            sh -c "$(shell_text)" "$(python_text)" "$action" --in-words || return 1
    done
}

echo "$made_by: job ${SLURM_JOB_ID-} on $SLURM_JOB_NODELIST"
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST") || exit 1
running=()
status=0
for host in $hosts; do
    group=$(group_of "$host")
    if [ "$group" = 0 ]; then
        echo "$host: error: this file has no plan for it"
        status=1
        continue
    fi
    serve "$host" "$group" &
    running+=($!)
done
for process in ${running[@]+"${running[@]}"}; do
    wait "$process" || status=1
done
exit $status
