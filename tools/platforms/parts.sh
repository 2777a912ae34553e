# Functions of the scripts that test the library for another platform. Such a script runs parts, one after the other: a part is a run of
# tools/test, on one interpreter for example. At the end the counts of all parts are printed, and why tests were skipped.
# The output of each part is in $logs. PARTS='luajit|lua5.1', for example, runs these parts only.
set -u
logs=target/platforms/${0##*/}
mkdir -p "$logs"
passed=0
failed=0
table=
begun=$(date +%s)

# Runs a part: part NAME COMMAND...
part() {
  name=$1
  shift
  case "|${PARTS:-$name}|" in
    *"|$name|"*) ;;
    *) return ;;
  esac
  log=$logs/$(echo "$name" | tr -c 'A-Za-z0-9.\n' '-').log
  started=$(date +%s)
  "$@" >"$log" 2>&1
  status=$?
  skipped=$(sed -n 's/^Skipped, \([0-9]*\) in all:$/\1/p' "$log" | tail -n 1)
  set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
  # A part without a last line, or with a bad exit and no failure, has failed.
  [ $# = 2 ] && { [ "$2" != 0 ] || [ "$status" = 0 ]; } || set -- "${1:-0}" $((${2:-0} + 1))
  row=$(printf '%-32s %6d passed %4d failed %4d skipped %5d s' "$name" "$1" "$2" "${skipped:-0}" $(($(date +%s) - started)))
  echo "$row"
  [ "$2" = 0 ] || { sed -n '/^Failed:$/,$p' "$log" | grep . || tail -n 20 "$log"; }
  table="$table
$row"
  passed=$((passed + $1))
  failed=$((failed + $2))
}

# Builds the library for a Lua: build_library 51|54 TARGET FOLDER. It is optimised like that of `make quick`.
build_library() {
  cargo build --quiet --profile quick --locked --features "lua$1,module" --target "$2" --target-dir "target/$2/lua$1" || exit
  case $2 in
    *-windows-*) built=torch_storage.dll core=$3/torch/core.dll ;;
    *) built=libtorch_storage.so core=$3/torch/core.so ;;
  esac
  mkdir -p "$3/torch"
  cp "target/$2/lua$1/$2/quick/$built" "$core.new" && mv -f "$core.new" "$core"
}

# Prints each reason for which a test was skipped, with the number of runs of a file in which it was, and the counts of all parts. Ends the
# script.
report() {
  printf '\nSkipped:\n'
  sed -n '/^Skipped, /,/^$/{ /^Skipped, /d; /^$/d; /: [0-9]* skipped$/d; s/^ *//p; }' "$logs"/*.log | sort | uniq -c |
    sed 's/^ *\([0-9]*\) /  in \1 file(s): /'
  printf '%s\n\n%d seconds\n' "$table" $(($(date +%s) - begun))
  printf '%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" = 0 ]
  exit
}
