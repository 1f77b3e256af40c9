import { termsFileSchema } from "../../../license/terms/terms-file.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { EXAMPLE_TERMS } from "../../vendor/terms-file.ts";
import { flag } from "../../frame/options.ts";

export const termsCommand = defineCommand({
  name: "vendor terms",
  summary: "print an example file for --terms, or its JSON schema",
  options: {
    schema: flag("--schema", "print the JSON schema with every field and its values"),
  },
  examples: [
    "berth vendor terms > terms.json",
    "berth vendor terms --schema > terms.schema.json",
    "berth vendor issue --dir desk --renew ID --terms terms.json --dry-run",
  ],
  run({ schema }) {
    return { text: JSON.stringify(schema ? termsFileSchema() : EXAMPLE_TERMS, null, 2) };
  },
});
