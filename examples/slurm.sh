#!/bin/bash
# A Heddle program as a job of Slurm:
#   sbatch -N 2 -n 8 slurm.sh ./my_program ARGUMENTS...
# It starts the program by PMI-2 where this Slurm has it, by PMIx otherwise, and without either by an address that all tasks derive.
set -eu
kinds=$(srun --mpi=list 2>&1)
for kind in pmi2 pmix none; do
  if grep -qw "$kind" <<<"$kinds"; then break; fi
done
if [ "$kind" = none ] && [ -z "${HEDDLE_SECRET:-}" ]; then
  HEDDLE_SECRET=$(head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n')
  export HEDDLE_SECRET
fi
exec srun --mpi="$kind" "$@"
