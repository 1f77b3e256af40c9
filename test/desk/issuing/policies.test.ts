import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { signPolicy } from "../../../src/license/terms/policy.ts";
import type { TermsChanges } from "../../../src/license/terms/terms-changes.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { createPolicy } from "../../../src/desk/issuing/airgap.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { applyTermsChanges } from "../../../src/desk/issuing/apply-terms.ts";
import { openAirgapSite } from "../../support/airgap-site.ts";
import { openDeskAndSite } from "../../support/desk-and-site.ts";
import { hoursLater, MONDAY } from "../../support/scenario.ts";
import { refusal } from "../../support/desk-refusal.ts";

const createBasicPolicy = (desk: Desk, terms: TermsChanges = {}, now = MONDAY) =>
  createPolicy(desk, "basic", { product: "sim", slots: 3, ...terms }, now);

const readLedger = (folder: string): string => readFileSync(join(folder, "ledger.jsonl"), "utf8");

describe("createPolicy", () => {
  test("gives the same document and one ledger line for the same id and terms", async () => {
    const { desk, folder } = await openDeskAndSite();
    const first = await createBasicPolicy(desk);
    expect(JSON.parse(readLedger(folder)) as object).toMatchObject({
      type: "policy",
      at: "2026-03-02T09:00:00.000Z",
      policy_id: "basic",
      terms: { product: "sim", slots: 3 },
      document: first,
    });
    expect(await createBasicPolicy(desk, {}, hoursLater(5))).toBe(first);
    const reopened = await Desk.open(realDisk, folder, null);
    expect(await createBasicPolicy(reopened, {}, hoursLater(9))).toBe(first);
    expect(readLedger(folder).trim().split("\n")).toHaveLength(1);
  });

  test("refuses other terms for an id, and names the difference and both alternatives", async () => {
    const { desk, folder } = await openDeskAndSite();
    await createBasicPolicy(desk);
    const before = readLedger(folder);
    const reason = await refusal(
      createBasicPolicy(desk, { slots: 300, trial: true }, hoursLater(5)),
    );
    expect(reason).toContain("policy basic is in the ledger since 2026-03-02 with other terms");
    expect(reason).toContain("trial no → yes; slots 3 → 300");
    expect(reason).toContain("--policy-id");
    expect(reason).toContain("--replace");
    expect(readLedger(folder)).toBe(before);
  });

  test("signs other terms for an id with isReplacing, and uses that policy from then on", async () => {
    const { desk } = await openDeskAndSite();
    const first = await createBasicPolicy(desk);
    const product = { product: "sim", slots: 300 };
    const second = await createPolicy(desk, "basic", product, hoursLater(5), { isReplacing: true });
    expect(second).not.toBe(first);
    expect(await createBasicPolicy(desk, { slots: 300 }, hoursLater(6))).toBe(second);
    expect(await refusal(createBasicPolicy(desk))).toContain("slots 300 → 3");
  });

  test("does not affect policies with other ids", async () => {
    const { desk } = await openDeskAndSite();
    await createBasicPolicy(desk);
    await createPolicy(desk, "more", { product: "sim", slots: 300 }, MONDAY);
    expect(desk.ledger.policyEntries().map(({ policy_id }) => policy_id)).toEqual([
      "more",
      "basic",
    ]);
  });

  test("signs the same terms again after the key was rotated", async () => {
    const { desk, folder } = await openDeskAndSite();
    const first = await createBasicPolicy(desk);
    const after = await desk.rotateKey(realDisk, folder, null);
    const second = await createBasicPolicy(after);
    expect(second).not.toBe(first);
    expect(await createBasicPolicy(after)).toBe(second);
  });
});

test("confirming a policy that is not on the ledger adds it to the ledger", async () => {
  const air = await openAirgapSite();
  const terms = applyTermsChanges(air.desk, null, { product: "mesh" });
  const payload = { iss: air.desk.vendor.vendor, iat: 0, policy_id: "P-0", terms };
  const policy = await signPolicy(payload, air.desk.key);
  const activation = await air.requestActivationCode();
  await air.confirmAtDesk(policy, activation);
  await air.confirmAtDesk(policy, activation);
  expect(air.desk.ledger.policyEntries()).toMatchObject([{ policy_id: "P-0", document: policy }]);
  expect(await refusal(air.makePolicy("P-0", { slots: 9 }))).toContain("slots 1 → 9");
});

test("confirming a policy that was replaced is refused", async () => {
  const air = await openAirgapSite();
  const old = await air.makePolicy();
  const product = { product: "mesh", slots: 9 };
  const next = await createPolicy(air.desk, "P-1", product, MONDAY, { isReplacing: true });
  const activation = await air.requestActivationCode();
  const reason = await refusal(air.confirmAtDesk(old, activation));
  expect(reason).toContain("policy P-1 was replaced on 2026-03-02");
  expect(air.desk.ledger.issuedEntries()).toEqual([]);
  expect(await air.confirmAtDesk(next, activation)).toContain("-");
});
