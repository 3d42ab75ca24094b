#!/usr/bin/env bash
# An experiment in parts by GNU parallel, and their folders joined:
#   deploy/parallel.sh FILE PARTS OUT
# Parts run one at a time here, for they would disturb each other on one machine. JOBS says
# how many run at once: useful for what is simulated or computed, and with
# PARALLEL='--sshloginfile hosts' where each host has one.
set -euo pipefail
file=${1:?name the file of an experiment}
parts=${2:?say how many parts}
out=${3:?name the new folder}
anabranch=${ANABRANCH:-anabranch}
parallel --jobs "${JOBS:-1}" --halt now,fail=1 \
  "$anabranch" lab run "$file" --shard "{}/$parts" --out "$out-part{}" ::: $(seq "$parts")
"$anabranch" lab merge "$out" $(seq -f "$out-part%g" "$parts")
"$anabranch" lab report "$out"
