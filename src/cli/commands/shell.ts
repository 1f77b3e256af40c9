import { Misuse } from "../../platform/options.ts";
import { completions, SHELLS } from "../frame/completions.ts";
import { EXIT_OK, type Command } from "../frame/command.ts";
import { manPage } from "../frame/man-page.ts";
import { printRaw } from "../frame/terminal.ts";

/** Takes a function, because the command table contains these commands too. */
export const shellCommands = (all: () => readonly Command[]): readonly Command[] => [
  {
    name: "completions",
    isCommon: true,
    summary: "print the completion script for a shell",
    options: [],
    arguments: [SHELLS.join("|")],
    examples: [
      "berth completions bash > /etc/bash_completion.d/berth",
      "berth completions fish > ~/.config/fish/completions/berth.fish",
    ],
    async run({ positionals: [word] }) {
      const shell = SHELLS.find((name) => name === word);
      if (shell === undefined)
        throw new Misuse(`the shell must be one of ${SHELLS.join(", ")}`, "berth completions bash");
      printRaw(completions(shell, all()).trimEnd());
      return EXIT_OK;
    },
  },
  {
    name: "man",
    summary: "print the man page",
    options: [],
    examples: ["berth man > /usr/local/share/man/man1/berth.1"],
    async run() {
      printRaw(manPage(all()).trimEnd());
      return EXIT_OK;
    },
  },
];
