"""Configuration files as people have them: comments, odd spacing, CRLF, marks, unknown keys."""
# ruff: noqa: E501 - a file a line

from __future__ import annotations

PIP = {
    "absent": None,
    "empty": b"",
    "blank lines": b"\n\n\n",
    "only a comment": b"# pip's configuration\n",
    "as a blog has it": b"[global]\nindex-url = https://pypi.doubanio.com/simple\n[install]\n"
    b"trusted-host = pypi.doubanio.com\n",
    "no final newline": b"[global]\ntimeout = 60\nindex-url=https://old.example/simple",
    "CRLF": b"[global]\r\nindex-url = https://old.example/simple\r\ntimeout = 60\r\n\r\n[list]\r\nformat = columns\r\n",
    "CRLF without the key": b"[list]\r\nformat = columns\r\n",
    "a mark": b"\xef\xbb\xbf[global]\nindex-url = https://old.example/simple\n",
    "odd spacing": b"\n[global]\n\n\ntimeout    =    60\nindex_url   :   https://old.example/simple   \n\n\n\n",
    "capitals and underscores": b"[global]\nIndex_URL = https://old.example/simple\nNo_Cache_Dir = false\n",
    "a value of many lines": b"[global]\nextra-index-url =\n    https://one.example/simple\n"
    b"    # the second\n    https://two.example/simple\n\nfind-links =\n    /srv/wheels\n    /mnt/wheels\n"
    b"index-url = https://old.example/simple\n",
    "the address on a line of its own": b"[global]\nindex-url =\n    https://old.example/simple\ntimeout = 9\n",
    "the install section wins": b"[install]\nindex-url = https://old.example/simple\nuse-pep517 = true\n",
    "both sections": b"[install]\nindex-url = https://b.example/simple\n[global]\nindex-url = https://a.example\n",
    "comments everywhere": b"; ours\n[global] ; not a comment\n# above\nindex-url = https://old.example/simple\n"
    b"; below\ntimeout = 60\n",
    "unknown sections": b"[distutils]\nindex-servers = a\n[global]\n[search]\nindex = https://x.example\n",
    "blanks at line ends": b"[global]  \nindex-url = https://old.example/simple\t \ntimeout = 60  \n",
    "other scripts": "[global]\n# 清华镜像\nindex-url = https://old.example/simple\n".encode(),
    "an empty value": b"[global]\nindex-url =\ntimeout = 60\n",
}
UV = {
    "absent": None,
    "empty": b"",
    "only a comment": b"# uv\n",
    "settings": b'native-tls = true\npython-preference = "only-system"\n\n[pip]\nno-cache = true\n',
    "a default index": b"# ours\n[[index]]\nurl = 'https://old.example/simple'  # the old one\ndefault = true\n",
    "named indexes": b'[[index]]\nname = "torch"\nurl = "https://whl.example/cu126"\nexplicit = true\n\n'
    b'[[index]]\nname = "lab"\nurl = "https://old.example/simple"\ndefault = true\n[pip]\nverify-hashes=true\n',
    "the old spelling": b'index-url = "https://old.example/simple"\nextra-index-url = ["https://x.example"]\n',
    "inline tables": b'index = [{ name = "torch", url = "https://whl.example/cu126", explicit = true }]\n',
    "CRLF": b'offline = false\r\n\r\n[[index]]\r\nurl = "https://old.example/simple"\r\ndefault = true\r\n',
    "odd spacing": b"\n\n   offline   =   false\n\n\n[ pip ]\n  break-system-packages   = false\n\n\n",
    "a mark": b"\xef\xbb\xbfoffline = false\n",
    "no final newline": b"offline = false\n[pip]\nstrict = true",
}
CONDA = {
    "absent": None,
    "empty": b"",
    "only a comment": b"# conda\n",
    "as Tsinghua's help has it": b"channels:\n  - defaults\nshow_channel_urls: true\ndefault_channels:\n"
    b"  - https://mirrors.tuna.tsinghua.edu.cn/anaconda/pkgs/main\n"
    b"  - https://mirrors.tuna.tsinghua.edu.cn/anaconda/pkgs/r\ncustom_channels:\n"
    b"  conda-forge: https://mirrors.tuna.tsinghua.edu.cn/anaconda/cloud\n"
    b"  pytorch: https://mirrors.tuna.tsinghua.edu.cn/anaconda/cloud\n",
    "lists at the margin": b"channels:\n- conda-forge\n- defaults\ndefault_channels:\n- https://old.example/main\n",
    "flow style": b"{channels: [conda-forge], ssl_verify: true}\n",
    "flow style inside": b"channels: [conda-forge, defaults]  # two\ncustom_channels: {lab: https://lab.example/c}\n",
    "comments everywhere": b"# top\nchannels:  # these\n  # first\n  - conda-forge  # the one\n\n# middle\n"
    b"custom_channels:\n  # ours\n  lab: https://lab.example/conda  # inside\n  # after\n\n# end\nauto_update_conda: no\n",
    "unknown keys and anchors": b"x-base: &base https://lab.example\nproxy_servers:\n  http: *base\n"
    b"envs_dirs:\n    - /data/envs\n    - ~/envs\nfoo: {bar: [1, 2]}\n",
    "CRLF": b"channels:\r\n  - defaults\r\nshow_channel_urls: false\r\n",
    "no final newline": b"channels:\n  - defaults\nshow_channel_urls: yes",
    "a document mark": b"---\nchannels:\n  - defaults\n",
    "an alias": b"channel_alias: https://mirror.example/anaconda\nchannels:\n  - conda-forge\n",
    "text of many lines": b"banner: |\n  hello\n  # no comment\n\n  world\nchannels: []\n",
    "quoted keys": b"\"show_channel_urls\": 'true'\n'custom_channels':\n    \"conda-forge\": 'https://old.example/c'\n",
}
SAMPLES = [
    (tool, name, content)
    for tool, samples in (("pip", PIP), ("uv", UV), ("conda", CONDA))
    for name, content in samples.items()
]
