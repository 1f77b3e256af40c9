import { termsFileSchema } from "../../license/terms-file.ts";
import { DONE, isSet, type Command } from "../command.ts";
import { EXAMPLE } from "../terms-file.ts";
import { printJson } from "../terminal.ts";

export const termsCommand: Command = {
  name: "vendor terms",
  summary: "print an example file for --terms, or its JSON schema",
  options: [
    {
      name: "schema",
      type: "boolean",
      help: "print the JSON schema with every field and its values",
    },
  ],
  examples: [
    "berth vendor terms > terms.json",
    "berth vendor terms --schema > terms.schema.json",
    "berth vendor issue --dir desk --renew ID --terms terms.json --dry-run",
  ],
  async run(given) {
    printJson(isSet(given, "schema") ? termsFileSchema() : EXAMPLE);
    return DONE;
  },
};
