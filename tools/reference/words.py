"""What the reference says besides the program's own help, in both languages."""

from __future__ import annotations

from typing import Final

WORDS: Final = {
    "en": {
        "title": "Commands",
        "intro": (
            "Made from the program by `python tools/build_reference.py`: each text is that of `--help`."
        ),
        "command": "Command", "does": "What it does", "option": "Option", "argument": "Argument",
        "meaning": "Meaning", "variable": "Variable", "default": "Default", "one of": " One of ",
        "also": "Also the [options of every command](#options-of-every-command).",
        "root": "Options of gpuenv itself", "common": "Options of every command", "codes": "Exit codes",
        "code": "Code",
        "precedence": (
            "What is typed wins over a variable. A variable holds what would be typed, `1` for an option "
            "without a value. Several values are separated by spaces, several files by `:` (on Windows "
            "`;`), unless the option says otherwise."
        ),
        "more": (
            "What the options mean together: [using gpuenv](using.md). What `--json` prints: [the "
            "JSON](json.md)."
        ),
        "stop": ".", "between": ", ",
    },
    "zh": {
        "title": "命令",
        "intro": "本页由 `python tools/build_reference.py` 从程序生成，内容与 `--help` 相同。",
        "command": "命令", "does": "作用", "option": "选项", "argument": "参数",
        "meaning": "含义", "variable": "环境变量", "default": "默认", "one of": "可选值：",
        "also": "另有[所有命令共有的选项](#所有命令共有的选项)。",
        "root": "gpuenv 自身的选项", "common": "所有命令共有的选项", "codes": "退出码",
        "code": "退出码",
        "precedence": (
            "命令行优先于环境变量。变量的值就是命令行里会写的内容，不带值的选项写 `1`。多个值用空格分隔，"
            "多个文件用 `:`（Windows 上用 `;`）分隔，选项另有说明的除外。"
        ),
        "more": "各选项如何配合使用见[使用 gpuenv](using.md)；`--json` 输出什么见 [JSON 输出](json.md)。",
        "stop": "。", "between": "、",
    },
}  # fmt: skip

EXIT_CODES: Final = {
    "en": {
        0: "success",
        2: "bad usage or bad input",
        3: "nothing satisfies the request on this machine, or its driver is broken: a refusal, explained",
        4: "no index or mirror could be read",
        5: "an installer failed, or no mirror has the right file; the previous environment was restored",
        6: "verify failed, or doctor found a problem",
        70: "an internal error: one line, and where the report was saved",
        130: "interrupted; partial files were removed",
    },
    "zh": {
        0: "成功",
        2: "用法或输入有误",
        3: "这台机器上没有满足要求的方案，或驱动已损坏：拒绝执行，并说明理由",
        4: "所有索引和镜像源都无法读取",
        5: "安装失败，或没有镜像源提供正确的文件；已恢复原来的环境",
        6: "verify 未通过，或 doctor 发现了问题",
        70: "内部错误：输出一行说明和报告的保存位置",
        130: "被中断；未完成的文件已删除",
    },
}
