"""Ansible's files: the module that carries the node program, and playbooks that call it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from gpuenv.formats.shell import one_line
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.secrets.url_credentials import without_userinfo

_PLACE = 'PROGRAM = ""\n'
_SHORTEST = 64  # characters
_TO_CONNECT_S = 60

# The requests lie in files that are called after digests, and reach the module in base64: Ansible would take
# `{{ … }}` in a text from outside (a GPU's name, an address) for a template, and run it.
_TASK = """\
# made by gpuenv; each host that has a request is served
- name: gpuenv {action}
  hosts: all
  gather_facts: false
  any_errors_fatal: false
  environment: "{{{{ gpuenv_environment | default({{}}) }}}}"
  tasks:
    - name: {action}
      gpuenv_node:
        action: {action}
        request: "{{{{ lookup('file', gpuenv_request) | b64encode }}}}"
        seconds: {seconds}
      vars:
        gpuenv_request: "{{{{ playbook_dir }}}}/requests/{{{{ inventory_hostname | hash('sha256') }}}}.json"
      when: gpuenv_request is file
      timeout: {timeout}
"""

_HEAD = """\
# made by gpuenv
#
# create the environments, and verify each on its GPUs (existing ones stay as they are):
#
#     ansible-playbook -i INVENTORY playbook.yml
#
# only show what would be done:  --check            only verify them: --tags verify
# under another name or path:    -e gpuenv_name=NAME
# replace one that was created from another plan:  -e gpuenv_force=true
# variables for the program on the nodes, such as HTTPS_PROXY or GPUENV_DATA_DIR: gpuenv_environment in the
# inventory. What is to be made is in locks/.
"""
_PLAY = """
{about}
- name: gpuenv, group {number}
  hosts:{hosts}
  gather_facts: false
  any_errors_fatal: false
  environment: "{{{{ gpuenv_environment | default({{}}) }}}}"
  tasks:
    - name: make the environment
      gpuenv_node:
        action: create
        request: "{{{{ lookup('file', playbook_dir ~ '/{lock}') | b64encode }}}}"
        name: "{{{{ gpuenv_name | default('{name}') }}}}"
        force: "{{{{ gpuenv_force | default(false) }}}}"
      tags: [create]
    - name: prove it
      gpuenv_node:
        action: verify
        name: "{{{{ gpuenv_name | default('{name}') }}}}"
      when: not ansible_check_mode
      tags: [verify]
"""
_ANY_HOSTS = " \"{{ gpuenv_hosts | default('all') }}\"  # -e gpuenv_hosts=PATTERN"
_PATTERNS = ("all", "ungrouped")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class GroupPlay(Struct, frozen=True):
    """Hosts that get the same environment, by their names in the inventory; none named: any that are there.

    `lock` is the path of the request beside the playbook, `about` are lines for who reads the playbook.
    """

    hosts: tuple[str, ...]
    lock: str
    about: tuple[str, ...]


def render_playbook(groups: Iterable[GroupPlay], name: str) -> str:
    """Return the playbook that makes the environment `name` on the hosts of each group, and proves it.

    Raises UsageError for a host whose name Ansible would take for a pattern or a template.
    """
    plays = (_render_play(group, number, name) for number, group in enumerate(groups, 1))
    return _HEAD + "".join(plays)


def _render_play(group: GroupPlay, number: int, name: str) -> str:
    about = "\n".join(f"# {without_userinfo(one_line(line))}" for line in group.about)
    hosts = (
        "".join(f"\n    - {json.dumps(checked_host(host, _PATTERNS))}" for host in group.hosts) or _ANY_HOSTS
    )
    return _PLAY.format(about=about, number=number, hosts=hosts, lock=group.lock, name=name)


def checked_host(host: str, reserved: tuple[str, ...] = ()) -> str:
    """Return the name of a host; raise UsageError for a name that is not valid, or is reserved."""
    if _HOST.fullmatch(host) and host not in reserved:
        return host
    raise UsageError(
        tr("`{name}` is not a valid host name", name=host),
        code="no-host-name",
        fixes=(Fix(tr("name the machine's file after the host: gpu1.json")),),
    )


def render_module(template: str, program: bytes) -> str:
    """Return Ansible's module with the node program in it; `template` is the text of ansible_module.py."""
    before, _, after = template.partition(_PLACE)
    return f'{before}PROGRAM = "{b64encode(program).decode()}"\n{after}'


def render_task(action: str, timeout_s: int) -> str:
    """Return the playbook of one action; `timeout_s` (seconds) is each host's time limit, 0 for no limit."""
    timeout = timeout_s + _TO_CONNECT_S if timeout_s else 0
    return _TASK.format(action=action, seconds=timeout_s, timeout=timeout)


def render_request(request: Mapping[str, Any]) -> str:
    """Return the file of one request.

    Ansible hides the base64 of it wherever it turns up in what it prints, so it has to be long enough to turn
    up nowhere else.
    """
    return json.dumps(request).rjust(_SHORTEST)
