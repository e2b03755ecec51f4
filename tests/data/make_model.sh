#!/bin/sh
# make_model.sh ICK VERSION: small models in the format that ICK writes, with a table to predict and what they predict.
#
# Models of a released format are never made again: they stay as they were written, and every later version must read them
# and predict the same. A new format gets new folders beside them, by its number.
set -eu
ick=$(realpath "$1")
version=$2
cd "$(dirname "$0")"

# Two years of every 12th day: a season and wind, rounded.
table() {
  awk -v first="$1" 'BEGIN {
    print "day,wind,site,temperature"
    for (i = first; i < first + 60; ++i) {
      day = 12 * i; wind = 3 + 2 * sin(1.7 * i) + cos(0.9 * i * i)
      printf "%s,%.3f,%s,%.2f\n", strftime("%Y-%m-%d", (15706 + day) * 86400, 1), wind, i % 3 ? "shore" : "hill",
        11 - 8 * cos(6.283185 * day / 365.25) - 0.6 * wind + (i % 3 ? 0.5 : -1) + 0.8 * sin(37 * i)
    }
  }'
}

keep() {
  name=$1
  if [ -e "$name" ]; then
    echo "$name is there already; a released model is never made again" >&2
    exit 1
  fi
  shift
  table 0 > table.csv
  "$ick" fit table.csv "$@" --out "$name" --seed 7 --progress none
  rm table.csv
  table 60 > "$name.input.csv"
  "$ick" predict "$name" "$name.input.csv" --out "$name.expected.csv"
}

keep "model_v$version" \
  'temperature ~ mlp(wind, site, layers=[4]) * periodic(day, period=1y, points=4) + linear(wind)' --members 2 --epochs 20
keep "model_v${version}_kernels" \
  'temperature ~ periodic(day, period=1y, points=6) + matern32(wind, points=5)'
keep "model_v${version}_ranks" \
  'temperature ~ cosine(day, period=1y, points=6) + polynomial(wind, points=5) * linear(day) + linear(day, points=4) + categorical(site)'
