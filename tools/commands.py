"""Write src/infogain/cli/commands.json, the outline of the command line, from the commands themselves."""

from __future__ import annotations

import json

from infogain.cli import main
from infogain.cli.outline import FILE, outline


def table() -> str:
    """The outline of every command as JSON, a line for each parameter."""
    commands = []
    for name in sorted(main.commands):
        told = outline(main.commands[name])
        parameters = ",\n".join(f"   {json.dumps(one, ensure_ascii=False)}" for one in told["parameters"])
        summary = json.dumps(told["summary"], ensure_ascii=False)
        commands.append(f' "{name}": {{\n  "summary": {summary},\n  "parameters": [\n{parameters}\n  ]\n }}')
    return "{\n" + ",\n".join(commands) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")
    print(f"{FILE.name} tells of {len(main.commands)} commands")
