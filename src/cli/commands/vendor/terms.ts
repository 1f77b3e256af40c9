import { termsFileSchema } from "../../../license/terms-file.ts";
import { EXIT_OK, isFlagSet, type Command } from "../../frame/command.ts";
import { EXAMPLE_TERMS } from "../../vendor/terms-file.ts";
import { printJson } from "../../frame/terminal.ts";

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
  async run(flags) {
    printJson(isFlagSet(flags, "schema") ? termsFileSchema() : EXAMPLE_TERMS);
    return EXIT_OK;
  },
};
