#!/bin/sh
# Makes PyTorch environments that work on the GPUs of this machine. It can be run at any time: what is there and
# works is left alone, what was interrupted is taken up again. `--help` tells what else it does.
#
# It needs sh, tar, and one of curl, wget and python3, but no root. All it makes lies in GPUENV_HOME and in gpuenv's
# data directory, and goes with `--uninstall`.
#
# It holds no password: where an index or a channel wants one, that stands in ~/.netrc, or in the file that the
# variable NETRC names (`machine HOST login NAME password PASSWORD`; chmod 600), on the machine that it runs on.
#
# shellcheck disable=SC2317 # functions are handed to others by their names

set -euf

# >>> what is asked for
made_by='gpuenv 0.0.0'
wanted_gpuenv='gpuenv 0.0.0'
gpuenv_wheel='gpuenv-0.0.0-py3-none-any.whl'
gpuenv_sha256=''
wanted_pythons='3.12'
asked_pythons=''
guarded=''
indexes_named=no
launcher=ask
environments='1'

environment() {
    number=$1
    shift
    case $number in
        1) "$@" torch torch torchvision ;;
        *) return 1 ;;
    esac
}

is_verified() { [ "$1" != 0 ]; }

is_carried() { [ "$1" = 0 ]; }

digest_of() { echo "$1"; }

pythons_of() { return 1; }

each_index() { return 1; }

each_channel() { return 1; }

micromamba_of() { return 1; }

write_files() { :; }
# <<< what is asked for

# --- texts

tell() { # ENGLISH CHINESE
    if [ "$language" = zh ]; then printf '%s\n' "$2"; else printf '%s\n' "$1"; fi
}

note() { tell "$@" >&2; }

fail() { # STATUS ENGLISH CHINESE
    note "error: $2" "错误：$3"
    exit "$1"
}

hint() { note "hint: $1" "提示：$2"; }

choose_language() {
    case ${GPUENV_LANG:-auto} in
        en | zh)
            language=$GPUENV_LANG
            return
            ;;
    esac
    case ${LC_ALL:-${LC_MESSAGES:-${LANGUAGE:-${LANG:-}}}} in
        zh*) language=zh ;;
        *) language=en ;;
    esac
}

help() {
    tell "usage: sh ${0##*/} [OPTION]... [NAME]...

Makes these environments, or those named: $(names)
  --dry-run      only tell what would be done
  --uninstall    remove what this script made: environments, gpuenv, caches
  --launcher     put \`gpuenv\` into ~/.local/bin; --no-launcher does not; else it is asked on a terminal
  --python PATH  run gpuenv with this Python, 3.10 or newer
  --lang en|zh   the language of the texts
  -y, --yes      ask nothing

It can be run again at any time. GPUENV_HOME is where gpuenv itself goes:
  $place
Passwords of indexes are read from ~/.netrc, or from the file that NETRC names.${guarded:+
These want one: $guarded}
Made by $made_by." "用法：sh ${0##*/} [选项]... [名称]...

创建以下环境，或只创建指定名称的环境：$(names)
  --dry-run      只说明会做什么，不做任何改动
  --uninstall    删除本脚本创建的一切：环境、gpuenv、缓存
  --launcher     把 \`gpuenv\` 放进 ~/.local/bin；--no-launcher 则不放；都不写时在终端上询问
  --python PATH  用这个 Python（3.10 或更新）运行 gpuenv
  --lang en|zh   文字的语言
  -y, --yes      不提问

可以随时重新运行。GPUENV_HOME 是 gpuenv 自身所在的目录：
  $place
index 的密码从 ~/.netrc 读取，或从 NETRC 指定的文件读取。${guarded:+
需要密码的有：$guarded}
由 $made_by 生成。"
}

# --- words and files

first_word() { printf '%s\n' "$1"; }

name_of() { environment "$1" first_word; }

names() {
    found=''
    for one in $environments; do found="$found $(name_of "$one")"; done
    printf '%s\n' "${found# }"
}

quoted() { # WORD...: as a shell reads them
    line=''
    for word in "$@"; do
        case $word in
            '' | *[!A-Za-z0-9_./:=+,@%-]*)
                word="'$(printf '%s\n' "$word" | sed "s/'/'\\\\''/g")'"
                ;;
        esac
        line="$line $word"
    done
    printf '%s\n' "${line# }"
}

has() { command -v "$1" >/dev/null 2>&1; }

write() { # FILE, from standard input: whole or as before
    cat >"$scratch/writing"
    mv -f -- "$scratch/writing" "$1"
}

make_directory() { # DIRECTORY: those that were not there are noted, for --uninstall
    missing=''
    directory=$1
    while [ ! -d "$directory" ]; do
        missing="$directory
$missing"
        directory=$(dirname -- "$directory")
    done
    if ! mkdir -p -- "$1" 2>/dev/null || [ ! -w "$1" ]; then
        fail 2 "\`$1\` can't be written: set GPUENV_HOME to another directory" \
            "\`$1\` 不可写：请把 GPUENV_HOME 设为别的目录"
    fi
    printf '%s' "$missing" >>"$place/made-directories"
}

run() { # COMMAND...: so that a signal reaches it, and not only this shell
    "$@" &
    child=$!
    ended=0
    wait "$child" || ended=$?
    child=''
    return "$ended"
}

logged() { # COMMAND...: what it prints goes into the log
    printf '$ %s\n' "$(quoted "$@")" | sed 's|://[^/@ ]*@|://***@|g' >>"$log"
    run "$@" >>"$log" 2>&1
}

show_log() {
    tail -n 12 "$log" | sed 's|://[^/@ ]*@|://***@|g; s/^/  /' >&2
    hint "the whole log is in $log" "完整日志在 $log"
}

# --- one at a time

lock() {
    if ! has flock; then
        lock_by_link
        return
    fi
    exec 9>"$place/lock" # what is started inherits it: the next run waits for what a killed one left at work
    waited=0
    code=0
    until flock -n 9; do
        code=$?
        [ "$code" = 1 ] || break
        [ "$waited" != 0 ] || note "another run of this script is at work; waiting for it" \
            "本脚本的另一次运行尚未结束，正在等待"
        [ "$waited" -lt 10 ] || busy "wait until it has ended" "请等它结束"
        waited=$((waited + 1))
        sleep 1
        code=0
    done
    if [ "$code" != 0 ]; then lock_by_link; fi # a file system without locks
}

lock_by_link() {
    until ln -s "$(uname -n):$$" "$place/lock.link" 2>/dev/null; do
        owner=$(readlink "$place/lock.link" || :)
        case $owner in
            "$(uname -n)":*) if kill -0 "${owner##*:}" 2>/dev/null; then still_held; fi ;;
            ?*) still_held ;; # of another machine, which shares this directory
        esac
        rm -f -- "$place/lock.link"
    done
    holds_link=yes
}

still_held() {
    busy "wait until it has ended; if none runs, remove $place/lock.link" \
        "请等它结束；如果并没有在运行，请删除 $place/lock.link"
}

busy() { # ENGLISH CHINESE
    hint "$@"
    fail 2 "another run of this script is at work" "本脚本的另一次运行尚未结束"
}

clean_up() {
    if [ "$holds_link" = yes ]; then rm -f -- "$place/lock.link"; fi
    if [ -n "$scratch" ]; then rm -rf -- "$scratch"; fi
}

interrupted() {
    trap '' INT TERM HUP
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null || :
        wait "$child" 2>/dev/null || :
    fi
    note "interrupted; run this script again to go on" "已中断；重新运行本脚本即可继续"
    exit 130
}

# --- where things are

# what others may write could be theirs to run
check_folder() { # DIRECTORY
    facts=$(ls -ldn -- "$1/." 2>/dev/null) || return 0
    # shellcheck disable=SC3067 # dash, bash and busybox know it
    if [ ! -O "$1/." ]; then
        hint "set GPUENV_HOME to a directory of your own" "请把 GPUENV_HOME 设为你自己的目录"
        fail 2 "\`$1\` belongs to somebody else" "\`$1\` 属于其他用户"
    fi
    # shellcheck disable=SC2086 # words
    set -- "$1" $facts
    case $2 in
        ????????w*) ;;
        ?????w*) if [ "$4" != "$5" ]; then others_write "$1"; fi && return ;; # a group of the user's own
        *) return ;;
    esac
    others_write "$1"
}

others_write() { # DIRECTORY
    hint "chmod go-w $(quoted "$1")" "chmod go-w $(quoted "$1")"
    hint "or set GPUENV_HOME to another directory" "或把 GPUENV_HOME 设为别的目录"
    fail 2 "others may write in \`$1\`: what this script runs from there could be theirs" \
        "其他用户可以写入 \`$1\`：本脚本从那里运行的程序可能被他们替换"
}

# where programs are found: never in the folder one stands in
clean_path() {
    given=$PATH:
    clean=''
    while [ -n "$given" ]; do
        case $given in /*) clean=$clean${clean:+:}${given%%:*} ;; esac
        given=${given#*:}
    done
    PATH=$clean
    export PATH
}

choose_places() {
    [ -n "${HOME:-}${GPUENV_HOME:-}" ] || fail 2 "there is no HOME: set GPUENV_HOME to a directory" \
        "没有 HOME：请把 GPUENV_HOME 设为一个目录"
    data=${GPUENV_DATA_DIR:-${XDG_DATA_HOME:-${HOME:-$GPUENV_HOME}/.local/share}/gpuenv}
    place=${GPUENV_HOME:-$data/bootstrap}
    case $place$data in
        *"
"*) fail 2 "the name of a directory has a line break" "目录名中有换行" ;;
    esac
    case $place in /*) ;; *) place=$PWD/$place ;; esac
    case $data in /*) ;; *) data=$PWD/$data ;; esac
    case ${NETRC:-/} in /*) ;; *) NETRC=$PWD/$NETRC ;; esac
    if [ -f "$place/data-directory" ]; then data=$(cat "$place/data-directory"); fi
    log=$place/log
    links=${HOME:-$place}/.local/bin
    beside=''
    if [ -f "$0" ]; then beside=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd); fi
}

prepare() {
    if [ ! -f "$place/made-directories" ] && [ -n "$(ls -A "$place" 2>/dev/null)" ]; then
        fail 2 "\`$place\` is not empty, and not this script's: set GPUENV_HOME to another directory" \
            "\`$place\` 不是空目录，也不是本脚本创建的：请把 GPUENV_HOME 设为别的目录"
    fi
    make_directory "$place"
    lock
    make_scratch
    cd -- "$scratch" # what lies in the folder one stands in decides nothing
    make_directory "$data"
    printf '%s\n' "$data" | write "$place/data-directory"
    rm -rf -- "$place/files" # of an earlier script
    mkdir -p -- "$place/environments" "$place/files"
    : >"$log"
    write_files
}

make_scratch() {
    scratch=$place/scratch
    rm -rf -- "$scratch"
    mkdir -- "$scratch"
}

# all that is fetched on the way stays in our own place, unless a variable says otherwise
settle() {
    unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_VIRTUALENV PIP_PYTHON
    unset GPUENV_DRY_RUN GPUENV_FORCE GPUENV_FROM GPUENV_FROM_LOCK GPUENV_JSON GPUENV_QUIET
    GPUENV_DATA_DIR=$data
    : "${GPUENV_CACHE_DIR:=$place/cache/gpuenv}" "${UV_CACHE_DIR:=$place/cache/uv}"
    : "${PIP_CACHE_DIR:=$place/cache/pip}" "${UV_PYTHON_INSTALL_DIR:=$place/uv-pythons}"
    : "${CUDA_CACHE_PATH:=$place/cache/nvidia}"
    GPUENV_LANG=$language
    TMPDIR=$scratch
    if [ -f "$place/files/config.toml" ]; then export GPUENV_CONFIG="$place/files/config.toml"; fi
    export GPUENV_DATA_DIR GPUENV_CACHE_DIR UV_CACHE_DIR PIP_CACHE_DIR UV_PYTHON_INSTALL_DIR CUDA_CACHE_PATH
    export GPUENV_LANG TMPDIR
    for version in $wanted_pythons $asked_pythons; do
        if is_whole "$version"; then PATH=$PATH:$place/pythons/$version/bin; fi
    done
    export PATH
}

# --- the network

fetch() { # URL FILE: what is named by https comes by https, wherever it is redirected to
    rm -f -- "$2.part"
    case $1 in https://*) protocols='=https' ;; *) protocols='=http,https' ;; esac
    if has curl; then
        logged curl -fsSL --proto "$protocols" --proto-redir "$protocols" --connect-timeout 20 --retry 2 \
            --netrc-optional ${NETRC:+--netrc-file "$NETRC"} -o "$2.part" "$1" || return
    elif wget --version >/dev/null 2>&1; then
        fetch_by_wget "$1" "$2.part" || return
    elif has_python3; then
        logged python3 -I -c 'import base64, netrc, os, shutil, sys, urllib.request as r
def login(req):
    try:
        found = netrc.netrc(os.environ.get("NETRC") or None).authenticators(req.host.rpartition(":")[0] or req.host)
    except (OSError, ValueError, netrc.NetrcParseError):
        found = None
    if found:
        words = base64.b64encode(("%s:%s" % (found[0] or "", found[2] or "")).encode()).decode()
        req.add_unredirected_header("Authorization", "Basic " + words)
    return req
class Redirect(r.HTTPRedirectHandler):
    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise OSError("redirected to plain http")
        return login(r.HTTPRedirectHandler.redirect_request(self, req, fp, code, msg, headers, newurl))
with r.build_opener(Redirect).open(login(r.Request(sys.argv[1])), timeout=60) as page, open(sys.argv[2], "wb") as file:
    shutil.copyfileobj(page, file)' "$1" "$2.part" || return
    elif has wget; then # busybox', which crashes on a time limit, and follows wherever it is led: the hash decides
        logged wget -q -O "$2.part" "$1" || return
    else
        fail 3 "none of curl, wget and python3 is there" "curl、wget 和 python3 都没有"
    fi
    mv -f -- "$2.part" "$2"
}

fetch_by_wget() { # URL FILE: it would follow from https to http, so that each step is taken here
    address=$1
    for _ in 1 2 3 4 5 6; do
        printf '$ %s\n' "wget $address" | sed 's|://[^/@ ]*@|://***@|g' >>"$log"
        if run env HOME="$(home_of_wget)" wget -nv -S --max-redirect=0 -T 30 -t 3 -O "$2" "$address" \
            2>"$scratch/answer"; then
            return
        fi
        cat "$scratch/answer" >>"$log"
        next=$(sed -n 's/^ *[Ll]ocation: *\([^ ]*\).*/\1/p' "$scratch/answer" | tail -n 1 | tr -d '\r')
        case $address,$next in
            https:*,https:* | http:*,http:* | http:*,https:*) address=$next ;;
            *,/*) address=$(printf '%s\n' "$address" | sed 's|^\([a-z]*://[^/]*\).*|\1|')$next ;;
            *) return 1 ;;
        esac
    done
    return 1
}

home_of_wget() { # it reads no other netrc than that of its home
    if [ -z "${NETRC:-}" ]; then
        printf '%s\n' "${HOME:-/}"
        return
    fi
    mkdir -p -- "$scratch/home"
    ln -sf -- "$NETRC" "$scratch/home/.netrc"
    if [ -f "${HOME:-}/.wgetrc" ]; then ln -sf -- "$HOME/.wgetrc" "$scratch/home/.wgetrc"; fi
    printf '%s\n' "$scratch/home"
}

has_python3() { has python3 && python3 -I -c 'import hashlib, ssl' >/dev/null 2>&1; }

sha256_of() { # FILE; nothing where no program can tell
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    elif has openssl; then
        openssl dgst -sha256 "$1" | sed 's/.*= *//'
    elif has_python3; then
        python3 -I -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$1"
    fi
}

# --- a Python to run gpuenv with

is_usable() { # PYTHON: one that this script has gpuenv for
    "$1" -I -c 'import sys, venv
release = "%d.%d" % sys.version_info[:2]
plain = sys.implementation.name == "cpython" and "t" not in sys.abiflags and sys.maxsize > 2**32
sys.exit(release not in sys.argv[1].split() or not plain)' "$(pythons_of "$(platform)" || :)" >/dev/null 2>&1
}

find_python() {
    python=$asked_python
    if [ -n "$python" ]; then
        is_usable "$python" ||
            fail 2 "\`$python\` is no Python 3.10 or newer" "\`$python\` 不是 3.10 或更新的 Python"
        return
    fi
    for candidate in python3.14 python3.13 python3.12 python3.11 python3.10 python3 python; do
        python=$(command -v "$candidate" || :)
        if [ -n "$python" ] && is_usable "$python"; then return; fi
    done
    if has uv; then
        python=$(uv python find '>=3.10' 2>/dev/null || :)
        if [ -n "$python" ] && is_usable "$python"; then return; fi
    fi
    for prefix in "$(conda_prefix "${CONDA_EXE:-}")" "${CONDA_PREFIX:-}" "${HOME:-}/miniforge3" \
        "${HOME:-}/mambaforge" "${HOME:-}/miniconda3" "${HOME:-}/anaconda3" \
        /opt/conda /opt/miniforge3 /opt/miniconda3 /opt/anaconda3; do
        python=$prefix/bin/python
        if [ -n "$prefix" ] && [ -x "$python" ] && is_usable "$python"; then return; fi
    done
    python=''
    return 1
}

conda_prefix() { # CONDA_EXE
    case $1 in
        */bin/conda) printf '%s\n' "${1%/bin/conda}" ;;
        */condabin/conda) printf '%s\n' "${1%/condabin/conda}" ;;
    esac
}

brought_python() { # the first that was brought and can run gpuenv
    for version in $wanted_pythons; do
        python=$place/pythons/$version/bin/python
        if is_whole "$version" && is_usable "$python"; then return; fi
    done
    python=''
    return 1
}

platform() {
    case $(uname -m) in x86_64 | amd64) echo linux-64 ;; aarch64 | arm64) echo linux-aarch64 ;; esac
}

bring_pythons() {
    package=$(micromamba_of "$(platform)" || :)
    if [ -z "$package" ]; then
        no_python "this script knows no micromamba for $(uname -m)" "本脚本不知道 $(uname -m) 的 micromamba"
    elif ! has sha256sum && ! has shasum && ! has openssl && ! has_python3; then
        no_python "no program here can check the hash of micromamba" \
            "这里没有程序能检查 micromamba 的校验和"
    elif [ ! -e /lib64/ld-linux-x86-64.so.2 ] && [ ! -e /lib/ld-linux-aarch64.so.1 ]; then
        no_python "conda packages need glibc, which is not there" "conda 包需要 glibc，而这里没有"
    fi
    get_micromamba "${package%% *}" "${package##* }" || {
        show_log
        if [ -f "$scratch/${package%% *}" ]; then
            no_python "neither tar with bzip2 nor a Python can unpack micromamba" \
                "tar（连同 bzip2）和 Python 都无法解开 micromamba"
        fi
        network_hint
        fail 4 "no conda channel gave micromamba" "没有一个 conda channel 提供了 micromamba"
    }
    for version in $wanted_pythons; do
        bring "$version" || {
            show_log
            fail 4 "no conda channel gave Python $version" "没有一个 conda channel 提供了 Python $version"
        }
    done
}

# what environments ask for comes from the mirrors too, as uv would fetch it from elsewhere
bring_asked() {
    package=$(micromamba_of "$(platform)" || :)
    if [ -z "$package" ]; then return; fi
    for version in $asked_pythons; do
        if "python$version" -I -c '' >/dev/null 2>&1 || is_whole "$version"; then continue; fi
        if ! get_micromamba "${package%% *}" "${package##* }" || ! bring "$version"; then
            note "no conda channel gave Python $version: gpuenv looks for one itself" \
                "没有一个 conda channel 提供了 Python $version：由 gpuenv 自己寻找"
        fi
    done
}

bring() { # VERSION
    if is_whole "$1"; then return; fi
    note "bringing Python $1 from a conda channel" "正从 conda channel 获取 Python $1"
    each_channel bring_python "$1" && PATH=$PATH:$place/pythons/$1/bin
}

is_whole() { # VERSION: it was brought to its end, and still runs
    [ -f "$place/pythons/$1/whole" ] && "$place/pythons/$1/bin/python" -I -c '' >/dev/null 2>&1
}

get_micromamba() { # FILE SHA256
    micromamba=$place/micromamba/bin/micromamba
    if [ -x "$micromamba" ]; then return; fi
    note "fetching micromamba, to bring a Python" "正在获取 micromamba，用来安装 Python"
    each_channel fetch_micromamba "$1" "$2" || return
    mkdir -- "$scratch/micromamba"
    unpack "$scratch/$1" "$scratch/micromamba" || return
    chmod 755 "$scratch/micromamba/bin/micromamba"
    rm -rf -- "$place/micromamba"
    mv -- "$scratch/micromamba" "$place/micromamba"
}

fetch_micromamba() { # FILE SHA256 CHANNEL
    fetch "$3/$(platform)/$1" "$scratch/$1" || return
    digest=$(sha256_of "$scratch/$1")
    if [ -z "$digest" ]; then
        rm -f -- "$scratch/$1"
        note "no program here can check the hash of $1: it is not used" \
            "这里没有程序能检查 $1 的校验和：不使用它"
        return 1
    elif [ "$digest" != "$2" ]; then
        rm -f -- "$scratch/$1"
        note "$3 has another file in place of $1: it is passed over" \
            "$3 上的 $1 不是应有的文件：已跳过"
        return 1
    fi
}

unpack() { # FILE DIRECTORY
    logged tar -xjf "$1" -C "$2" bin/micromamba || logged busybox tar -xjf "$1" -C "$2" bin/micromamba ||
        logged python3 -c 'import sys, tarfile
tarfile.open(sys.argv[1]).extract("bin/micromamba", sys.argv[2])' "$1" "$2"
}

bring_python() { # VERSION CHANNEL
    prefix=$place/pythons/$1
    rm -rf -- "$prefix"
    logged env MAMBA_ROOT_PREFIX="$place/conda" MAMBA_REGISTER_ENVS=false CONDA_REGISTER_ENVS=false \
        "$micromamba" create --yes -p "$prefix" --override-channels -c "$2" "python=$1" pip || return
    : >"$prefix/whole"
}

network_hint() {
    hint "see whether the network works; a proxy is named by the variable https_proxy" \
        "请检查网络；代理由变量 https_proxy 指定"
    if [ -n "$guarded" ]; then
        hint "these want a password, in ~/.netrc or in the file that NETRC names: $guarded" \
            "以下主机需要密码，请写入 ~/.netrc 或 NETRC 指定的文件：$guarded"
    fi
}

no_python() { # ENGLISH CHINESE: why none can be brought
    note "  $1" "  $2"
    note "  it would be one of these: Python $(pythons_of "$(platform)" || :)" \
        "  可用的版本：Python $(pythons_of "$(platform)" || :)"
    hint "install Python 3.10 or newer with venv: \`apt install python3-venv\`, \`dnf install python3.11\`" \
        "请安装带 venv 的 Python 3.10 或更新版本：\`apt install python3-venv\`，\`dnf install python3.11\`"
    hint "or name one: --python PATH" "或指定一个：--python PATH"
    fail 3 "there is no usable Python 3.10 or newer, and none can be brought" \
        "没有可用的 Python 3.10 或更新版本，也无法自动获取"
}

# --- gpuenv itself

has_gpuenv() { # FOLDER: it has the one that is asked for, and its Python still runs
    [ "$(cat "$place/$1/whole" 2>/dev/null)" = "$gpuenv_sha256" ] &&
        "$place/$1/bin/python" -I -c 'import gpuenv' >/dev/null 2>&1
}

install_gpuenv() {
    if ! has_gpuenv venv.new; then
        if ! find_python && ! brought_python; then
            bring_pythons
            brought_python || of_no_use
        fi
        if ! make_venv; then
            show_log
            note "\`$python\` can't make environments" "\`$python\` 无法创建虚拟环境"
            brought_python || { bring_pythons && brought_python; } || of_no_use
            make_venv || of_no_use
        fi
        note "installing gpuenv into $place" "正在把 gpuenv 安装到 $place"
        install_into_venv || not_installed
        printf '%s\n' "$gpuenv_sha256" | write "$place/venv.new/whole"
    fi
    rm -rf -- "$place/venv.old"
    if [ -e "$place/venv" ]; then mv -- "$place/venv" "$place/venv.old"; fi
    mv -- "$place/venv.new" "$place/venv"
    rm -rf -- "$place/venv.old"
}

of_no_use() {
    no_python "the Python that was brought does not run here" "获取的 Python 在这里无法运行"
}

make_venv() { # sets what installs into it
    new=$place/venv.new
    rm -rf -- "$new"
    installer=pip
    if logged "$python" -I -m venv "$new"; then return; fi
    rm -rf -- "$new"
    if has uv; then
        installer=uv
        logged uv venv --python "$python" "$new"
        return
    fi
    # Debian and Ubuntu take pip out of Python, and with it what venv brings pip by
    logged "$python" -I -m venv --without-pip "$new" || return
    if "$python" -I -m pip --version >/dev/null 2>&1; then
        installer='other pip'
    elif wheel=$(find_pip); then
        installer='pip wheel'
    else
        return 1
    fi
}

find_pip() { # a wheel of pip's that lies beside this script, and is the one that was meant
    collect >/dev/null || return
    set +f
    for file in "$scratch"/wheels/pip-*.whl; do
        set -f
        [ -f "$file" ] || return
        printf '%s\n' "$file"
    done
}

# Writes what to install, by hash, to `requirements`, and copies what lies beside this script into `wheels` if it is
# what was meant. Prints `beside` where all is there.
collect() {
    rm -rf -- "$scratch/wheels"
    mkdir -- "$scratch/wheels"
    wheels_needed | "$python" -I -c 'import hashlib, os, shutil, sys
platform, scratch, beside = sys.argv[1:]
target = "%d.%d/%s" % (sys.version_info[0], sys.version_info[1], platform)
def digest_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()
def is_copied(name, digest):
    for folder in (os.path.join(beside, "wheels"), beside) if beside else ():
        source, copy = os.path.join(folder, name), os.path.join(scratch, "wheels", name)
        if os.path.isfile(source):
            shutil.copyfile(source, copy)
            if digest_of(copy) == digest:
                return True
            os.remove(copy)
            sys.stderr.write(source + "\n")
    return False
digests, copied = {}, set()
for line in sys.stdin:
    digest, name, *targets = line.split()
    if target in targets:
        project, version = name.split("-")[:2]
        wanted = project + "==" + version
        if is_copied(name, digest):
            copied.add(wanted)
        if project != "pip":
            digests.setdefault(wanted, []).append(digest)
with open(os.path.join(scratch, "requirements"), "w") as file:
    for wanted, known in digests.items():
        file.write(" ".join([wanted] + ["--hash=sha256:" + one for one in known]) + "\n")
print("beside" if digests and copied.issuperset(digests) else "")
' "$(platform)" "$scratch" "$beside" 2>"$scratch/others"
    while read -r file; do
        note "$file is not the file that this script was made with: it is passed over" \
            "$file 不是生成本脚本时的那个文件：已跳过"
    done <"$scratch/others"
}

unpack_gpuenv() { # to FILE
    gpuenv_in_base64 | "$python" -I -c 'import base64, hashlib, sys
content = base64.b64decode(sys.stdin.read())
if hashlib.sha256(content).hexdigest() != sys.argv[2]:
    sys.exit("the gpuenv in this script is damaged")
with open(sys.argv[1], "wb") as file:
    file.write(content)' "$1" "$gpuenv_sha256" 2>>"$log"
}

install_into_venv() {
    unpack_gpuenv "$scratch/$gpuenv_wheel" || return
    if [ "$(collect)" = beside ]; then
        install --no-index --find-links "$scratch/wheels" --require-hashes -r "$scratch/requirements" || return
    elif [ "$indexes_named" = yes ]; then
        each_index install_from || return
    else
        install_from '' || return
    fi
    install --no-index "$scratch/$gpuenv_wheel"
}

install_from() { # INDEX; an empty text is the installer's own
    set -- "$1" --find-links "$scratch/wheels" --require-hashes -r "$scratch/requirements"
    case $installer:$1 in
        *:) shift && install "$@" ;;
        uv:*) install --default-index "$@" ;;
        *) install --index-url "$@" ;;
    esac
}

# no variable of the user's may let other files in, or stand against the hashes
without_others() { # COMMAND...
    unset PIP_CONSTRAINT PIP_BUILD_CONSTRAINT PIP_REQUIREMENT PIP_NO_BINARY PIP_ONLY_BINARY PIP_REQUIRE_HASHES PIP_PRE
    unset PIP_NO_DEPS PIP_DRY_RUN UV_CONSTRAINT UV_BUILD_CONSTRAINT UV_OVERRIDE UV_NO_BINARY UV_ONLY_BINARY
    unset UV_NO_VERIFY_HASHES UV_REQUIRE_HASHES UV_EXCLUDE_NEWER UV_TORCH_BACKEND
    exec "$@"
}

install() { # OPTION... [FILE]: these files and no others
    set -- install --no-deps --only-binary :all: "$@"
    case $installer in
        uv)
            shift
            logged without_others uv pip install --python "$new/bin/python" "$@"
            ;;
        'other pip') logged without_others "$python" -I -m pip --python "$new/bin/python" "$@" --no-input ;;
        'pip wheel') logged without_others "$new/bin/python" -I "$wheel/pip" "$@" --no-input ;;
        *) logged without_others "$new/bin/python" -I -m pip "$@" --no-input --disable-pip-version-check ;;
    esac
}

not_installed() {
    show_log
    if grep -qE 'DO NOT MATCH THE HASHES|[Hh]ash mismatch' "$log"; then
        note "an index has another file than the one that this script was made with: it was not used" \
            "某个 index 上的文件不是生成本脚本时的那个：没有使用它"
    fi
    # as pip, then as uv says it
    if grep -qiE 'ConnectionError|NameResolution|ConnectTimeout|ReadTimeout|ProxyError' "$log" ||
        grep -qiE 'dns error|error sending request|connection refused|unreachable' "$log"; then
        network_hint
        fail 4 "what gpuenv needs can't be fetched: no index answers" \
            "无法下载 gpuenv 所需的包：没有一个 index 应答"
    fi
    fail 5 "gpuenv can't be installed" "无法安装 gpuenv"
}

gpuenv() { run "$place/venv/bin/python" -I -m gpuenv "$@"; }

# --- the environments

has_driver() { [ -e /proc/driver/nvidia/version ] || [ -e /dev/dxg ] || has nvidia-smi; }

tell_of_gpu() {
    if [ "$gpu_told" = yes ] || has_driver; then return; fi
    gpu_told=yes
    set +f
    for vendor in /sys/bus/pci/devices/*/vendor; do
        if [ "$(cat "$vendor" 2>/dev/null)" = 0x10de ]; then
            set -f
            note "this machine has an NVIDIA GPU, but its driver does not run" \
                "这台机器有 NVIDIA GPU，但驱动没有运行"
            return
        fi
    done
    set -f
    note "this machine has no NVIDIA GPU: what is made here is for the CPU; on a cluster, run this where the GPUs are" \
        "这台机器没有 NVIDIA GPU：在这里创建的环境是 CPU 版；在集群上请到有 GPU 的节点运行"
}

look_up() { # NAME: its variant and when it was made; nothing where there is no such environment
    gpuenv list --json >"$scratch/list.json" || return
    "$place/venv/bin/python" -I -c 'import json, os, sys
def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
for one in read(sys.argv[1])["data"]["environments"]:
    if one["name"] == sys.argv[2]:
        print(one["variant"] or "unknown", read(os.path.join(one["path"], "gpuenv.json"))["created"])
' "$scratch/list.json" "$1"
}

works() { # NUMBER NAME
    if ! is_verified "$1"; then return; fi
    gpuenv verify "$2" --quiet >>"$log" 2>&1
}

ensure() { # NUMBER: make this environment unless it is there and works
    name=$(name_of "$1")
    mark=$place/environments/$name
    digest=$(digest_of "$1")
    found=$(look_up "$name") || found=''
    variant=${found%% *}
    if [ -z "$found" ]; then
        make "$1"
    elif is_ours && [ "$(cat "$mark")" != "$digest ${found#* }" ]; then
        make_anew "$1" "\`$name\` is made anew, as it is asked for now" "\`$name\` 按现在的要求重新创建"
    elif works "$1" "$name"; then
        note "\`$name\` is there and works" "\`$name\` 已经存在，并且可用"
    elif is_ours; then
        make_anew "$1" "\`$name\` does not work any more: it is made anew" "\`$name\` 已不可用：重新创建"
    else
        note "error: \`$name\` does not work, and this script did not make it" \
            "错误：\`$name\` 不可用，而且不是本脚本创建的"
        put_launcher_file
        hint "$(quoted "$place/gpuenv") doctor $name" "$(quoted "$place/gpuenv") doctor $name"
        return 6
    fi
}

is_ours() { # the environment that was found: begun by this script, or made at the very time that it noted
    case $(cat "$mark" 2>/dev/null) in begun | *" ${found#* }") ;; *) return 1 ;; esac
}

make_anew() { # NUMBER ENGLISH CHINESE
    if [ "$variant" != cpu ] && ! has_driver; then # a home is shared with machines that have no GPU
        note "error: \`$name\` is for a GPU, and there is none here" "错误：\`$name\` 需要 GPU，而这里没有"
        return 6
    fi
    note "$2" "$3"
    make "$1" --force
}

make() { # NUMBER [--force]
    tell_of_gpu
    echo begun | write "$mark" # so that --uninstall knows of it, whatever comes
    if is_carried "$1"; then export PIP_NO_INDEX=1; fi # gpuenv heeds it, whoever installs
    code=0
    environment "$1" create "${2:-}" || code=$?
    if is_carried "$1"; then unset PIP_NO_INDEX; fi
    if [ "$code" != 0 ]; then return "$code"; fi
    found=$(look_up "$name") || found=' unknown'
    printf '%s\n' "$digest ${found#* }" | write "$mark"
}

create() { # ''|--force NAME ARGUMENT...
    force=$1
    shift
    set -- create "$@" --yes ${force:+"$force"}
    printf '$ %s\n' "$(quoted gpuenv "$@")" >>"$log"
    gpuenv "$@"
}

put_launcher() {
    put_launcher_file
    command_name=$(quoted "$place/gpuenv")
    link=$links/gpuenv
    if [ "$(readlink "$link" 2>/dev/null)" != "$place/gpuenv" ]; then
        ask_for_launcher
        if [ "$launcher" != yes ]; then return; fi
        if [ -e "$link" ] || [ -L "$link" ]; then
            note "$link is there already, and stays as it is" "$link 已经存在，保持不变"
            return
        fi
        make_directory "$links"
        ln -s "$place/gpuenv" "$link"
    fi
    in_links
}

put_launcher_file() {
    {
        printf '#!/bin/sh\n'
        unless_set GPUENV_DATA_DIR "$GPUENV_DATA_DIR"
        unless_set GPUENV_CACHE_DIR "$GPUENV_CACHE_DIR"
        unless_set UV_CACHE_DIR "$UV_CACHE_DIR"
        unless_set PIP_CACHE_DIR "$PIP_CACHE_DIR"
        unless_set UV_PYTHON_INSTALL_DIR "$UV_PYTHON_INSTALL_DIR"
        if [ -f "$place/files/config.toml" ]; then unless_set GPUENV_CONFIG "$place/files/config.toml"; fi
        printf 'exec %s -I -m gpuenv "$@"\n' "$(quoted "$place/venv/bin/python")"
    } | write "$place/gpuenv"
    chmod 755 "$place/gpuenv"
}

unless_set() { # VARIABLE VALUE: a line of the launcher
    # shellcheck disable=SC2016 # it is the launcher that looks
    printf '[ -n "${%s:-}" ] || export %s=%s\n' "$1" "$1" "$(quoted "$2")"
}

ask_for_launcher() {
    if [ "$launcher" != ask ] || [ ! -t 0 ] || [ ! -t 2 ]; then return; fi
    note "put \`gpuenv\` into $links? [y/N]" "把 \`gpuenv\` 放进 $links 吗？[y/N]"
    read -r answer || answer=''
    case $answer in y | Y | yes | 是 | 好) launcher=yes ;; esac
}

in_links() {
    case :$PATH: in
        *":$links:"*) command_name=gpuenv ;;
        *)
            command_name=$(quoted "$link")
            hint "to type \`gpuenv\` alone, add $links to PATH" "若要直接输入 \`gpuenv\`，请把 $links 加入 PATH"
            ;;
    esac
}

make_all() {
    status=0
    ready=''
    for one in $chosen; do
        code=0
        ensure "$one" || code=$?
        if [ "$status" = 0 ]; then status=$code; fi
        if [ "$code" = 0 ]; then ready="$ready $(name_of "$one")"; fi
    done
    put_launcher
    for name in $ready; do
        tell "$name: $command_name run $name -- python" "$name：$command_name run $name -- python"
    done
    exit "$status"
}

# --- what else can be asked for

dry_run() {
    if has_gpuenv venv; then
        tell "gpuenv is in $place" "gpuenv 已在 $place 中"
    else
        if find_python || brought_python; then
            tell "would use $python" "将使用 $python"
        elif [ -n "$(micromamba_of "$(platform)" || :)" ]; then
            each_channel show_channel || :
        else
            tell "finds no usable Python 3.10 or newer, and can bring none" "没有可用的 Python 3.10 或更新版本，也无法自动获取"
        fi
        tell "would install $wanted_gpuenv, which this script carries, into $place" \
            "将把本脚本自带的 $wanted_gpuenv 安装到 $place"
    fi
    for one in $chosen; do environment "$one" show_create; done
}

show_channel() { # CHANNEL
    tell "would bring Python $wanted_pythons by micromamba from $1" "将用 micromamba 从 $1 获取 Python $wanted_pythons"
    false # the next one too
}

show_create() {
    tell "would run, unless it is there and works: $(quoted gpuenv create "$@" --yes)" \
        "若尚不存在或不可用，将运行：$(quoted gpuenv create "$@" --yes)"
}

uninstall() {
    if [ ! -f "$place/made-directories" ]; then
        note "there is nothing of this script in $place" "$place 中没有本脚本创建的内容"
        exit 0
    fi
    lock
    marks=$(ls -A "$place/environments" 2>/dev/null || :)
    check_others
    if [ "$assume_yes" != yes ]; then confirm "$marks"; fi
    make_scratch
    cd -- "$scratch"
    settle
    for name in $marks; do remove_environment "$name"; done # a name has no blanks
    rm -rf -- "$place/environments"
    if [ "$(readlink "$links/gpuenv" 2>/dev/null)" = "$place/gpuenv" ]; then rm -f -- "$links/gpuenv"; fi
    for part in venv venv.new venv.old pythons uv-pythons micromamba conda cache files scratch gpuenv log; do
        rm -rf -- "${place:?}/$part"
    done
    scratch=''
    cd /
    remove_directories
    note "removed" "已删除"
    exit 0
}

check_others() { # environments of the user's that need the Pythons that go
    set +f
    for file in "$data"/envs/*/pyvenv.cfg; do
        other=${file%/pyvenv.cfg}
        other=${other##*/}
        if [ -f "$file" ] && [ ! -f "$place/environments/$other" ] && grep -qF "$place/" "$file"; then
            set -f
            hint "remove it first: gpuenv remove $other" "请先删除它：gpuenv remove $other"
            fail 2 "the environment \`$other\` needs a Python that this script brought" \
                "环境 \`$other\` 需要本脚本带来的 Python"
        fi
    done
    set -f
}

confirm() { # NAMES
    [ -t 0 ] || {
        hint "give --yes to go on without a question" "加上 --yes 即可不提问直接继续"
        fail 2 "cannot prompt: not running in a terminal" "没有可以提问的终端"
    }
    note "remove gpuenv in $place and these environments: $(printf '%s' "$1" | tr '\n' ' ')? [y/N]" \
        "删除 $place 中的 gpuenv 以及这些环境：$(printf '%s' "$1" | tr '\n' ' ')？[y/N]"
    read -r answer || answer=''
    case $answer in
        y | Y | yes | 是 | 好) ;;
        *) note "nothing was changed" "没有做任何改动" && exit 130 ;;
    esac
}

remove_environment() { # NAME
    mark=$place/environments/$1
    found=$(look_up "$1") || found=''
    if [ -n "$found" ]; then
        if is_ours; then gpuenv remove "$1" --yes || exit; fi
    elif ! has_gpuenv venv && grep -qF "\"$(sed 's/.* //' "$mark")\"" "$data/envs/$1/gpuenv.json" 2>/dev/null; then
        rm -rf -- "${data:?}/envs/$1"
    fi
    rm -f -- "$mark"
}

remove_directories() { # those that this script made, as far as they are empty
    directories=$(sed '1!G;h;$!d' "$place/made-directories") # the innermost first
    if printf '%s\n' "$directories" | grep -qxF "$data" && is_empty "$data/envs" && is_empty "$data/elsewhere"; then
        for part in envs elsewhere locks journals logs; do rm -rf -- "${data:?}/$part"; done
    fi
    rm -f -- "$place/data-directory" "$place/lock" "$place/lock.link" "$place/made-directories"
    printf '%s\n' "$place" "$directories" | while read -r directory; do
        if [ -n "$directory" ]; then rmdir -- "$directory" 2>/dev/null || :; fi
    done
}

is_empty() { [ -z "$(ls -A "$1" 2>/dev/null)" ]; }

choose_environments() { # NAME...: their numbers
    chosen=''
    for wanted in "$@"; do
        number=''
        for one in $environments; do
            if [ "$(name_of "$one")" = "$wanted" ]; then number=$one; fi
        done
        [ -n "$number" ] || fail 2 "\`$wanted\` is not among: $(names)" "\`$wanted\` 不在其中：$(names)"
        chosen="$chosen $number"
    done
    chosen=${chosen:-$environments}
}

# >>> what it brings
wheels_needed() { :; }

gpuenv_in_base64() { :; }
# <<< what it brings

main() {
    umask go-w
    clean_path
    child='' scratch='' holds_link=no gpu_told=no asked_python='' assume_yes=no task=make
    choose_language
    choose_places
    while [ $# != 0 ]; do
        case $1 in
            -h | --help) task=help ;;
            --dry-run) task=dry-run ;;
            --uninstall) task=uninstall ;;
            --launcher) launcher=yes ;;
            --no-launcher) launcher=no ;;
            -y | --yes) assume_yes=yes ;;
            --lang=*) language=${1#*=} ;;
            --python=*) asked_python=${1#*=} ;;
            --lang | --python)
                [ $# -gt 1 ] || fail 2 "$1 needs a value" "$1 需要一个值"
                if [ "$1" = --lang ]; then language=$2; else asked_python=$2; fi
                shift
                ;;
            --) shift && break ;;
            -*) hint "see --help" "见 --help" && fail 2 "there is no option $1" "没有选项 $1" ;;
            *) break ;;
        esac
        shift
    done
    case $language in en | zh) ;; *) language=en && fail 2 "--lang is en or zh" "--lang 只能是 en 或 zh" ;; esac
    case $asked_python in '' | /*) ;; */*) asked_python=$PWD/$asked_python ;; esac
    choose_environments "$@"
    if [ "$assume_yes" = yes ] && [ "$launcher" = ask ]; then launcher=no; fi
    if [ "$task" = help ]; then help && exit 0; fi
    [ "$(uname -s)" = Linux ] || fail 3 "this script is for Linux; elsewhere \`pip install .\` in a clone of gpuenv" \
        "本脚本只用于 Linux；其他系统请在 gpuenv 的 clone 中运行 \`pip install .\`"
    [ -n "$(platform)" ] || fail 3 "there is no CUDA build of torch for $(uname -m)" "torch 没有 $(uname -m) 的 CUDA 版"
    check_folder "$place"
    check_folder "$data"
    if [ "$task" = dry-run ]; then dry_run && exit 0; fi
    trap clean_up EXIT
    trap interrupted INT TERM HUP
    if [ "$task" = uninstall ]; then uninstall; fi
    prepare
    settle
    if ! has_gpuenv venv; then install_gpuenv; fi
    bring_asked
    make_all
}

main "$@"
