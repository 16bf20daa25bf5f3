# Which files the lint reads. Sourced by bash at the root of a tree; sets `files`, all that are tracked or about to be;
# `sources`, those in C++ and CUDA; `scripts`; and `code`, all that is written by hand and has a budget: these and the page.
export LC_ALL=C # bytes and their order, wherever it runs

# Without git (or in another user's clone) all but what is never tracked.
list_files() {
  if [ -e .git ] && git ls-files --cached --others --exclude-standard 2>/dev/null; then return; fi
  find . \( -name .git -o -path ./build -o -name .cache \) -prune -o -type f -print | sed 's|^\./||'
}

files=() sources=() scripts=() code=()
while IFS= read -r file; do
  [ -f "$file" ] || continue
  files+=("$file")
  case $file in
    *.cpp | *.hpp | *.cu | *.cuh | *.h) sources+=("$file") code+=("$file") ;;
    *.sh | *.awk) scripts+=("$file") code+=("$file") ;;
    reports/page/echarts.js) ;; # a bundle
    *.js | *.mjs | *.css | *.html) code+=("$file") ;;
    *)
      IFS= read -rn 2 first <"$file" || :
      if [ "$first" = '#!' ]; then scripts+=("$file") code+=("$file"); fi
      ;;
  esac
done < <(list_files | sort -u)
