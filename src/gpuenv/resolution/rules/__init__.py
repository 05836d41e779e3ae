"""The rules of compatibility, one module each; a build stays only if it passes every one of them.

`check` functions return failures; `sentence` functions say in one sentence what several failures of one key
have in common.
"""
