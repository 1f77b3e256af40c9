import { expect, test } from "bun:test";
import { join } from "node:path";
import type { ConsumptionTerms } from "../../src/domain/terms.ts";
import type { StatusReply } from "../../src/http/status.ts";
import { done, doneJson } from "../support/berth.ts";
import { counting } from "../support/scenario.ts";
import { makeSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

test.each<[string, ConsumptionTerms | null, string, boolean]>([
  ["that does not count", null, "-", false],
  ["that counts up to a maximum", counting({ max: 100 }), "0/100", false],
  ["that counts up to nothing", counting({ max: 0 }), "0/0", false],
  ["that counts without a limit", counting({ max: null }), "0/unlimited", true],
])(
  "berth status shows the consumption of a license %s",
  async (_what, consumption, shown, isFree) => {
    const folder = join(tempFolder(), "data");
    await makeSite(folder, { product: "cad", consumption });
    const words = ["status", "--data", folder];
    const line = (await done(words)).split("\n").find((one) => one.startsWith("cad "));
    expect(line?.split(/ {2,}/)[4]).toBe(shown);
    const { licenses } = await doneJson<StatusReply>(words);
    expect(licenses).toMatchObject([{ allow_unlimited_consumptions: isFree }]);
  },
);
