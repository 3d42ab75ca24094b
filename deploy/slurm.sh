#!/usr/bin/env bash
# A part of an experiment for each task of a Slurm array:
#   sbatch --array=1-12 deploy/slurm.sh experiments/yates1996.toml
# and when all are done:
#   anabranch lab merge results/lab results/lab-part*
# anabranch has to be in the PATH of the nodes, and results/ on a file system they share.
#SBATCH --job-name=anabranch-lab
#SBATCH --exclusive
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail
file=${1:?name the file of an experiment}
index=${SLURM_ARRAY_TASK_ID:?start it with sbatch --array=1-N}
count=${SLURM_ARRAY_TASK_MAX:?start it with sbatch --array=1-N}
part=results/lab-part$index
mkdir -p results
if [ -e "$part/manifest.json" ]; then
  exec anabranch lab resume "$part"
fi
exec anabranch lab run "$file" --full --shard "$index/$count" --out "$part"
