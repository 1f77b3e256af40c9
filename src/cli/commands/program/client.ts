import { createHash } from "node:crypto";
import { CLIENTS } from "../../../clients/client-files.ts";
import { version } from "../../../platform/embedded/version.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { flag, Misuse } from "../../frame/options.ts";

/** What to type, for each language. */
const commandLines = Object.entries(CLIENTS).map(([language, { client, example }]) => ({
  language,
  command: `berth client ${language} > ${client.file}`,
  example_command: `berth client ${language} --example > ${example.file}`,
}));

const COMMAND_WIDTH = Math.max(...commandLines.map(({ command }) => command.length));

export const clientCommand = defineCommand({
  name: "client",
  isCommon: true,
  summary: "print a client file for applications in Python, C, JavaScript or TypeScript",
  options: {
    example: flag("--example", "print an application that uses the client instead"),
    json: option.json,
  },
  arguments: ["LANGUAGE"],
  examples: ["berth client python > berth.py", "berth client c --example > app.c"],
  run({ example: isExample }, { args: [language] }) {
    if (language === undefined) return listLanguages();
    const files = Object.hasOwn(CLIENTS, language) ? CLIENTS[language] : undefined;
    if (files === undefined) {
      throw new Misuse(
        `there is no client for ${language}`,
        `the languages are ${Object.keys(CLIENTS).join(", ")}`,
      );
    }
    const { file, text } = isExample ? files.example : files.client;
    const sha256 = createHash("sha256").update(text).digest("hex");
    return {
      json: { language, file, version, sha256, text },
      // Printing adds a line break, so the one at the end of the file is dropped.
      text: { document: text.replace(/\n$/, "") },
    };
  },
});

const listLanguages = () => ({
  json: { clients: commandLines },
  text: [
    "Print the client for your language into a file; the second command prints an example:",
    ...commandLines.map(
      ({ command, example_command }) => `  ${command.padEnd(COMMAND_WIDTH)}   ${example_command}`,
    ),
    "An application in TypeScript needs berth.js and berth.d.ts. Its example is in JavaScript.",
  ],
});
