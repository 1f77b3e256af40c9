import { inspectRulesInSteps } from "../../../rules/inspect-rules.ts";
import { finishSteps } from "../../../rules/parse-rules.ts";
import type { ProductFacts, SiteFacts } from "../../../rules/site-findings.ts";
import { defineCommand } from "../../frame/define-command.ts";

/** What the server writes to the standard input, as JSON. */
export interface RulesJobInput {
  readonly text: string;
  readonly clientAuth: SiteFacts["clientAuth"];
  /** The site's products and their features: maps as lists of entries. */
  readonly products: readonly (readonly [string, ProductEntry])[];
}

type ProductEntry = Pick<ProductFacts, "slots"> & {
  readonly features: readonly (readonly [string, number | null])[];
};

/** Started by the server as a child process: a long text takes seconds to read. */
export const rulesJobCommand = defineCommand({
  name: "rules-job",
  summary: "read a long text of sharing rules (started by the server)",
  isHidden: true,
  options: {},
  async run() {
    const { text, clientAuth, products } = (await Bun.stdin.json()) as RulesJobInput;
    const site: SiteFacts = {
      clientAuth,
      products: new Map(
        products.map(([code, { slots, features }]) => [
          code,
          { slots, features: new Map(features) },
        ]),
      ),
    };
    return { text: { raw: JSON.stringify(finishSteps(inspectRulesInSteps(text, site))) } };
  },
});
