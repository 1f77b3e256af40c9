import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signPolicy } from "../../../src/license/terms/policy.ts";
import type { TermsChanges } from "../../../src/license/terms/terms-changes.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { createPolicy } from "../../../src/desk/issuing/airgap.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { applyTermsChanges } from "../../../src/desk/issuing/apply-terms.ts";
import { decodeProtectedHeader } from "jose";
import { usualPeriod } from "../../../src/desk/desk.ts";
import { DAY, instant, later, type Instant } from "../../../src/domain/time.ts";
import { generateKey, keyIdOf, publicPart } from "../../../src/license/documents/keys.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { AirgapSite, openAirgapSite, PRODUCT } from "../../support/airgap-site.ts";
import { openDeskAndSite } from "../../support/desk-and-site.ts";
import { expectOk, openAppliance } from "../../support/appliance.ts";
import { openRootOf, openWithNewKey, replaceKey, signNextTrust } from "../../support/desk-keys.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { hoursLater, MONDAY } from "../../support/scenario.ts";
import { refusal } from "../../support/desk-refusal.ts";

const createBasicPolicy = (desk: Desk, terms: TermsChanges = {}, now = MONDAY) =>
  createPolicy(desk, "basic", { product: "sim", slots: 3, valid_until: null, ...terms }, now);

const readPolicyLines = (folder: string): string[] =>
  readLedger(folder)
    .split("\n")
    .filter((line) => line.includes('"type":"policy"'));

const readLedger = (folder: string): string => readFileSync(join(folder, "ledger.jsonl"), "utf8");

describe("createPolicy", () => {
  test("gives the same document and one ledger line for the same id and terms", async () => {
    const { desk, folder } = await openDeskAndSite();
    const first = await createBasicPolicy(desk);
    const [line = "", ...more] = readPolicyLines(folder);
    expect(JSON.parse(line) as object).toMatchObject({
      type: "policy",
      at: "2026-03-02T09:00:00.000Z",
      policy_id: "basic",
      terms: { product: "sim", slots: 3 },
      document: first,
    });
    expect(await createBasicPolicy(desk, {}, hoursLater(5))).toBe(first);
    const reopened = await Desk.open(realDisk, folder, null);
    expect(await createBasicPolicy(reopened, {}, hoursLater(9))).toBe(first);
    expect([more, readPolicyLines(folder)]).toEqual([[], [line]]);
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
    const product = { product: "sim", slots: 300, valid_until: null };
    const second = await createPolicy(desk, "basic", product, hoursLater(5), { isReplacing: true });
    expect(second).not.toBe(first);
    expect(await createBasicPolicy(desk, { slots: 300 }, hoursLater(6))).toBe(second);
    expect(await refusal(createBasicPolicy(desk))).toContain("slots 300 → 3");
  });

  test("does not affect policies with other ids", async () => {
    const { desk } = await openDeskAndSite();
    await createBasicPolicy(desk);
    await createPolicy(desk, "more", { product: "sim", slots: 300, valid_until: null }, MONDAY);
    const signed = ["basic", "more"].map((id) => desk.ledger.policiesNamed(id).length);
    expect(signed).toEqual([1, 1]);
  });

  test("signs the same terms again with a new key, and with a new certificate of the key", async () => {
    const { desk, folder } = await openDeskAndSite();
    const first = await createBasicPolicy(desk);
    const after = await openWithNewKey(folder);
    const second = await createBasicPolicy(after);
    expect(second).not.toBe(first);
    expect(await createBasicPolicy(after)).toBe(second);
    const period = { from: wallClock(), until: later(wallClock(), 3_000 * DAY) };
    const jwk = publicPart(after.issuing.key);
    const cert = await (await openRootOf(folder)).certify(jwk, period);
    await Desk.acceptCertificate(realDisk, folder, cert);
    const third = await createBasicPolicy(await Desk.open(realDisk, folder, null));
    expect([first, second]).not.toContain(third);
    expect(decodeProtectedHeader(third)["cert"]).toBe(cert);
  });
});

test("confirming a policy that is not on the ledger adds it to the ledger", async () => {
  const air = await openAirgapSite();
  const terms = applyTermsChanges(air.desk, null, { product: "mesh", valid_until: null });
  const payload = { iss: air.desk.vendor.vendor, iat: 0, policy_id: "P-0", terms };
  const policy = await signPolicy(payload, air.desk.issuing);
  const activation = await air.requestActivationCode();
  await air.confirmAtDesk(policy, activation);
  await air.confirmAtDesk(policy, activation);
  expect(air.desk.ledger.policiesNamed("P-0")).toMatchObject([
    { policy_id: "P-0", document: policy },
  ]);
  expect(await refusal(air.makePolicy("P-0", { slots: 9 }))).toContain("slots 1 → 9");
});

test("confirming a policy that was replaced is refused", async () => {
  const air = await openAirgapSite();
  const old = await air.makePolicy();
  const product = { product: "mesh", slots: 9, valid_until: null };
  const next = await createPolicy(air.desk, "P-1", product, MONDAY, { isReplacing: true });
  const activation = await air.requestActivationCode();
  const reason = await refusal(air.confirmAtDesk(old, activation));
  expect(reason).toContain("policy P-1 was replaced on 2026-03-02");
  expect(air.desk.ledger.issuedEntries()).toEqual([]);
  expect(await air.confirmAtDesk(next, activation)).toContain("-");
});

describe("a policy of an earlier key", () => {
  /** A policy, and the desk with another key and this folder. */
  async function openWithPolicy(period: { readonly until?: Instant } = {}) {
    const folder = join(tempFolder(), "desk");
    const options = { name: "Hooli", products: [PRODUCT], passphrase: null };
    await Desk.create(realDisk, folder, options);
    const { id } = await replaceKey(folder, period);
    const site = await openAppliance({ licenses: {} });
    const desk = await Desk.open(realDisk, folder, null);
    unwrap(await site.vendorTrust.trustVendor(desk.trust.document, "test"));
    const policy = await new AirgapSite(site, desk).makePolicy();
    return { folder, id, policy, after: new AirgapSite(site, await openWithNewKey(folder)) };
  }

  const reopen = async (air: AirgapSite, folder: string): Promise<AirgapSite> =>
    new AirgapSite(air.site, await Desk.open(realDisk, folder, null));

  test("is confirmed with that key, and the site installs the license", async () => {
    const { after, policy, id } = await openWithPolicy();
    expect(keyIdOf(after.desk.issuing.key)).not.toBe(id);
    const body = await after.makeLicenseBody({ policy });
    expect(expectOk(await after.addLicense(body)).is_air_gapped).toBe(true);
    expect(after.desk.ledger.issuedEntries()).toMatchObject([{ key: id }]);
  });

  test("is refused when that key is retired, and the next policy is confirmed", async () => {
    const { after, folder, policy, id } = await openWithPolicy();
    await signNextTrust(folder, { retired: [id] });
    const air = await reopen(after, folder);
    const reason = await refusal(air.makeLicenseBody({ policy }));
    expect(reason).toContain(`the policy is signed with the key ${id}, which is retired`);
    expect(reason).toContain("make the policy again with berth vendor policy");
    expect(air.desk.ledger.issuedEntries()).toEqual([]);
    const next = await air.makePolicy();
    expect(next).not.toBe(policy);
    await air.makeLicenseBody({ policy: next });
  });

  test("is refused from the end of that key on", async () => {
    const until = instant(Math.floor(later(wallClock(), DAY) / 1_000) * 1_000);
    const { after, policy, id } = await openWithPolicy({ until });
    await after.makeLicenseBody({ policy, now: instant(until - 1) });
    const reason = await refusal(after.makeLicenseBody({ policy, now: until }));
    expect(reason).toContain(`the key ${id}, which has ended`);
  });

  test("is refused from the end of its own certificate on, if the key has a later one", async () => {
    const until = instant(Math.floor(later(wallClock(), DAY) / 1_000) * 1_000);
    const { after, folder, policy, id } = await openWithPolicy({ until });
    const key = after.desk.keys.find((candidate) => candidate.id === id);
    if (key === undefined) throw new Error("the desk has no such key");
    const root = await openRootOf(folder);
    const longer = await root.certify(key.certificate.cnf.jwk, usualPeriod());
    await Desk.acceptCertificate(realDisk, folder, longer);
    const air = await reopen(after, folder);
    expect(keyIdOf(air.desk.issuing.key)).toBe(id);
    expect(await refusal(air.makeLicenseBody({ policy, now: until }))).toContain("which has ended");
    await air.makeLicenseBody({ policy: await air.makePolicy(), now: until });
  });

  test("is refused if the file of that key contains another key, with the right id in its name", async () => {
    const { after, folder, policy, id } = await openWithPolicy();
    writeFileSync(join(folder, `${id}.key.jwk`), JSON.stringify(await generateKey()));
    const reason = await refusal(after.makeLicenseBody({ policy }));
    expect(reason).toContain(`the file of the key ${id} contains another key`);
    expect(after.desk.ledger.issuedEntries()).toEqual([]);
  });

  test("is refused at another desk of the vendor, which does not have the key", async () => {
    const { after, folder, policy, id } = await openWithPolicy();
    const root = await openRootOf(folder);
    const other = await Desk.createFor(realDisk, join(tempFolder(), "desk2"), root, null);
    const attempt = new AirgapSite(after.site, other).makeLicenseBody({ policy });
    expect(await refusal(attempt)).toContain(`the key ${id}, which is not a key of this desk`);
  });
});
