import { expect, test } from "bun:test";
import { join } from "node:path";
import type { ConsumptionTerms } from "../../../../src/domain/model/licenses/terms.ts";
import type { StatusReply } from "../../../../src/http/routes/health/status-schema.ts";
import { runOrThrow, runJsonOrThrow } from "../../../support/run-berth.ts";
import { consumptionTerms } from "../../../support/scenario.ts";
import { makeLicensedSite } from "../../../support/site-folder.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

test.each<[string, ConsumptionTerms | null, string, boolean]>([
  ["that does not count", null, "-", false],
  ["that counts up to a maximum", consumptionTerms({ max: 100 }), "0/100", false],
  ["that counts up to 0", consumptionTerms({ max: 0 }), "0/0", false],
  ["that counts without a limit", consumptionTerms({ max: null }), "0/unlimited", true],
])(
  "berth status shows the consumption of a license %s",
  async (_what, consumption, shown, isUnlimited) => {
    const folder = join(tempFolder(), "data");
    await makeLicensedSite(folder, { product: "cad", consumption });
    const words = ["status", "--data", folder];
    const line = (await runOrThrow(words)).split("\n").find((row) => row.startsWith("cad "));
    expect(line?.split(/ {2,}/)[4]).toBe(shown);
    const { licenses } = await runJsonOrThrow<StatusReply>(words);
    expect(licenses).toMatchObject([{ allow_unlimited_consumptions: isUnlimited }]);
  },
);
