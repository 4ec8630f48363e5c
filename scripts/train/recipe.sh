#!/usr/bin/env bash
# Makes the shipped models anew: trains the encoder, rounds it, fits its threshold, and distils the static model.
#
#     scripts/train/recipe.sh WORK_DIR --packages DIR [--from CHECKPOINT] [--program toolroute]
#
# WORK_DIR keeps the checkpoints: after a stop the same command goes on where it was. Without the last three stages the encoder took 24
# minutes on one H200; on one core of a processor a step of 36 prompts takes 3 to 5 s, the whole a day. Needs `pip install -r
# scripts/train/requirements.txt`, the tool-retrieval sets in ../shared/data, a built toolroute, and in the folder of --packages the
# three packages that `scripts/train/large_apis.py --help` names.
set -euo pipefail

say() { printf 'recipe: %s\n' "$*" >&2; }
die() {
    say "$@"
    exit 1
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=target/release/toolroute
from=${XDG_DATA_HOME:-$HOME/.local/share}/toolroute/models/all-MiniLM-L6-v2
work=
packages=
while (($# > 0)); do
    case $1 in
    --from) from=${2:?"--from needs a folder"} && shift ;;
    --packages) packages=${2:?"--packages needs a folder"} && shift ;;
    --program) program=${2:?"--program needs a path"} && shift ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) die "unknown option '$1'; see --help" ;;
    *) work=$1 ;;
    esac
    shift
done
[[ -n $work ]] || die "expected a folder for checkpoints; see --help"
[[ -x $program ]] || die "no toolroute at '$program': run 'cargo build --release', or give --program PATH"
[[ -f $from/model.safetensors ]] || die "no model at '$from': run scripts/fetch_model.sh, or give --from FOLDER"
[[ -n $packages ]] || die "expected --packages, a folder with the packages that scripts/train/large_apis.py --help names"
data=../shared/data
[[ -d $data ]] || die "no sets at '$data'"
mkdir -p "$work"
scripts/train/large_apis.py "$packages"

# bfloat16 where the processor multiplies it; an accelerator always does, and has room for both runs at a time.
bf16=() together=false
if grep -qE 'avx512_bf16|amx_bf16' /proc/cpuinfo; then bf16=(--bf16); fi
if command -v nvidia-smi >/dev/null; then bf16=(--bf16) together=true; fi

train() { # FROM TO OPTION...
    local init=$1 out=$2
    shift 2
    python3 scripts/train/train_encoder.py "$init" "$data" "$out" --prompts scripts/train/prompts \
        --final-rate 0.04 --alike 0.88 --nearly 0.05 --no-bank --keyword "$program" --threads 1 --validate-every 500 \
        --share apibench=0.03 --share toolalpaca=0.05 "${bf16[@]}" "$@"
}

# First what tools are for, then which of them an order means, and when none is meant.
purposes() { train "$from" "$@" --share prompts=0.52 --share orders=0 --share bfcl=0.12; }
orders() { train "$@" --absolute 0.5 --share prompts=0.36 --share orders=0.36 --share bfcl=0.10 --share self=0.10; }

# Few prompts a step and many steps, and the other way round: their average is better than either.
small() {
    local batch=(--batch 36 --hard 40 --rate 5e-5 --warmup 40)
    purposes "$work/small_first" "${batch[@]}" --ema 0.995 --steps 3000 --seed 41
    orders "$work/small_first" "$work/small" "${batch[@]}" --ema 0.99 --steps 1000 --seed 63
}
large() {
    local batch=(--batch 96 --hard 100 --ema 0.99)
    purposes "$work/large_first" "${batch[@]}" --rate 8e-5 --warmup 60 --steps 1600 --seed 42
    orders "$work/large_first" "$work/large" "${batch[@]}" --rate 7e-5 --warmup 40 --steps 700 --seed 64
}
both() { # COMMAND COMMAND
    if $together; then
        ($1) & local first=$!
        ($2) & local second=$!
        # Not joined by &&, behind which a failure would end nothing.
        wait "$first"
        wait "$second"
    else
        $1
        $2
    fi
}
both small large
scripts/train/average.py "$work/average" "$work/small=0.5" "$work/large=0.5"

# Then mostly orders that use no word of their tool, are over large APIs, or take several tools: two runs from that average, averaged
# with it, and two longer ones, each from the result before and averaged with it.
mostly_orders() { # FROM TO STEPS SEED
    train "$1" "$2" --absolute 0.5 --share prompts=0.30 --share orders=0.48 --share bfcl=0.07 --share self=0.07 --share toolalpaca=0.04 \
        --batch 36 --hard 40 --rate 5e-5 --warmup 40 --ema 0.99 --steps "$3" --seed "$4"
}
indirect_a() { mostly_orders "$work/average" "$work/indirect_a" 900 81; }
indirect_b() { mostly_orders "$work/average" "$work/indirect_b" 900 82; }
both indirect_a indirect_b
scripts/train/average.py "$work/indirect" "$work/average=0.25" "$work/indirect_a=0.375" "$work/indirect_b=0.375"
mostly_orders "$work/indirect" "$work/longer" 1800 83
scripts/train/average.py "$work/last" "$work/indirect=0.25" "$work/longer=0.75"
mostly_orders "$work/last" "$work/longest" 1800 84
scripts/train/average.py "$work/final" "$work/last=0.6" "$work/longest=0.4"
scripts/train/trim.py "$work/final" "$work/encoder"

python3 scripts/train/distill_static.py "$work/encoder" "$data" models/static --prompts scripts/train/prompts \
    --steps 1000 --teach-tools 6000 --teach-prompts 1500 --cache "$work/static" --goldens tests/data/static_goldens.jsonl

"$program" model round "$work/encoder" "$work/rounded" --name toolroute-l6-v1 --licence Apache-2.0 --pooling mean \
    --max-tokens 256 --description "MiniLM trained for finding tools: English, 6 layers, 384 dimensions, mean pooling, up to 256 tokens"
scripts/calibrate.py --binary "$program" --model "$work/rounded" | tee "$work/calibration.toml"
say "the encoder is in $work/rounded: copy its files over models/toolroute-l6-v1, put $work/calibration.toml in place of"
say "[calibration] in its manifest, build, and measure with 'toolroute eval --suite $data'"
