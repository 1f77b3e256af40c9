// A statement has at most 48 KiB. Fewer days are covered if the use of a month does not fit.
import { describe, expect, test } from "bun:test";
import type { TermsChanges } from "../../../src/license/terms/terms-changes.ts";
import { expectOk } from "../../support/appliance.ts";
import {
  atDay,
  goTo,
  installLicense,
  makeStatement,
  openReportingSite,
  readStatement,
  type ReportingSite,
} from "../../support/reporting-site.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const MAX_BYTES = 48 * 1024;
const DAYS = 31;
const LICENSES = 4;
const FEATURES_PER_LICENSE = 70;

interface LongFeature {
  readonly license_id: number;
  readonly feature: string;
}

/** Codes that compression does not shorten much: the statement names each feature that was used. */
async function openSiteWithLongFeatures() {
  const opened = await openReportingSite();
  const random = new SeededRandom(7);
  const makeCode = (): string =>
    Array.from({ length: 250 }, () => random.intBelow(36).toString(36)).join("");
  const longFeatures: LongFeature[] = [];
  for (let index = 0; index < LICENSES; index += 1) {
    const codes = Array.from({ length: FEATURES_PER_LICENSE }, makeCode);
    const features = codes.map((code) => ({ code, name: "Long", floating: { slots: 1 } }));
    const license_id = await installLicense(opened, "sim", { slots: 1, features });
    longFeatures.push(...codes.map((feature) => ({ license_id, feature })));
  }
  return { ...opened, longFeatures };
}

async function useFeatures({ site }: ReportingSite, used: readonly LongFeature[]): Promise<void> {
  for (const { license_id, feature } of used) {
    const user = `user-${license_id}`;
    expectOk(await site.register({ user, product: "sim", license_id }));
    expectOk(await site.featureRegister({ user, product: "sim", license_id, feature }));
  }
}

describe("a usage statement", () => {
  test("of 20 licenses with features that are used on 31 days has at most 48 KiB", async () => {
    const opened = await openReportingSite();
    const { site } = opened;
    const ids = [opened.license];
    const terms: TermsChanges = {
      slots: 5,
      timeout_minutes: 60,
      consumption: { max: 100_000 },
      features: [{ code: "MESH", floating: { slots: 5, timeout_minutes: 60 } }],
    };
    while (ids.length < 20) ids.push(await installLicense(opened, "sim", terms));
    for (let day = 0; day < DAYS; day += 1) {
      goTo(site, day, 10 + (day % 7) / 3);
      for (const [index, license_id] of ids.entries()) {
        const fields = { user: `user-${(day * index) % 11}`, product: "sim", license_id };
        expectOk(await site.register(fields));
        expectOk(await site.featureRegister({ ...fields, feature: "MESH" }));
      }
    }
    goTo(site, DAYS);
    const { document, to } = await makeStatement(site);
    expect(to).toBe(atDay(DAYS));
    expect(document.length).toBeLessThanOrEqual(MAX_BYTES);
    const { licenses } = (await readStatement(document)).figures;
    expect(new Set(licenses.map(({ license_id }) => license_id))).toEqual(new Set(ids));
    const everyDay = Array.from({ length: DAYS }, () => 1);
    for (const { pools } of licenses) {
      expect(pools.map(({ feature, people }) => [feature, people])).toEqual([
        [null, everyDay],
        ["MESH", everyDay],
      ]);
    }
  }, 60_000);

  test("covers fewer days if a month does not fit, and the next one covers the others", async () => {
    const opened = await openSiteWithLongFeatures();
    const { site, longFeatures } = opened;
    const half = longFeatures.length / 2;
    await useFeatures(opened, longFeatures.slice(0, half));
    goTo(site, 20);
    await useFeatures(opened, longFeatures.slice(half));
    goTo(site, DAYS);
    const first = await makeStatement(site);
    expect(first).toMatchObject({ n: 1, from: atDay(0), to: atDay(15), unreportedDays: 16 });
    const second = await makeStatement(site);
    expect(second).toMatchObject({ n: 2, from: atDay(15), to: atDay(31), unreportedDays: 0 });
    for (const [{ document }, used] of [
      [first, longFeatures.slice(0, half)],
      [second, longFeatures.slice(half)],
    ] as const) {
      expect(document.length).toBeLessThanOrEqual(MAX_BYTES);
      const { licenses } = (await readStatement(document)).figures;
      const reported = licenses.flatMap(({ pools }) => pools.map(({ feature }) => feature));
      expect(reported.filter((feature) => feature !== null).toSorted()).toEqual(
        used.map(({ feature }) => feature).toSorted(),
      );
    }
  }, 60_000);

  test("is refused, and nothing is written, if not even one day fits", async () => {
    const opened = await openSiteWithLongFeatures();
    const { site, longFeatures } = opened;
    await useFeatures(opened, longFeatures);
    goTo(site, 2);
    const refuse = () => site.services.usageStatements.make(null, "test");
    const refusal = { ok: false, fault: { code: "statement_too_large", day: atDay(0) } };
    expect(await refuse()).toEqual(refusal as never);
    // The first attempt wrote the expiries that were due.
    const written = site.lastSeq();
    expect(await refuse()).toEqual(refusal as never);
    expect(site.lastSeq()).toBe(written);
  }, 60_000);
});
