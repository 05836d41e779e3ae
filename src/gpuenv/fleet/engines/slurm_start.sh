# sh -c THIS TEXT ACTION: run the Python program TEXT with the first Python on PATH that is 3.8 or newer
IFS=:
for folder in $PATH; do
    case $folder in /*) ;; *) continue ;; esac
    for python in "$folder"/python3 "$folder"/python3.[0-9] "$folder"/python3.[0-9][0-9]; do
        if [ -x "$python" ] && "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 8))' </dev/null 2>/dev/null; then
            exec "$python" -I -c "$0" "$@"
        fi
    done
done
echo "there is no Python 3.8 or newer on PATH" >&2
exit 127
