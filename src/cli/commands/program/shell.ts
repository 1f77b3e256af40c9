import { Misuse } from "../../frame/options.ts";
import { completions, SHELLS } from "../../frame/completions.ts";
import type { Command } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { manPage } from "../../frame/man-page.ts";

/** Takes a function, because the command table contains these commands too. */
export const shellCommands = (all: () => readonly Command[]): readonly Command[] => [
  defineCommand({
    name: "completions",
    isCommon: true,
    summary: "print the completion script for a shell",
    options: {},
    arguments: [SHELLS.join("|")],
    examples: [
      "berth completions bash > /etc/bash_completion.d/berth",
      "berth completions fish > ~/.config/fish/completions/berth.fish",
    ],
    run(_values, { args: [word] }) {
      const shell = SHELLS.find((name) => name === word);
      if (shell === undefined)
        throw new Misuse(`the shell must be one of ${SHELLS.join(", ")}`, "berth completions bash");
      return { text: { raw: completions(shell, all()).trimEnd() } };
    },
  }),
  defineCommand({
    name: "man",
    summary: "print the man page",
    options: {},
    examples: ["berth man > /usr/local/share/man/man1/berth.1"],
    run: () => ({ text: { raw: manPage(all()).trimEnd() } }),
  }),
];
