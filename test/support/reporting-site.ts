// A site with licenses of a desk, whose clock tests move, and which makes usage statements.
import type { Instant } from "../../src/domain/time.ts";
import { DAY, instant, later } from "../../src/domain/time.ts";
import type { TermsChanges } from "../../src/license/terms/terms-changes.ts";
import {
  verifyUsageStatement,
  type UsageFigures,
  type UsageStatement,
} from "../../src/license/documents/usage-statement.ts";
import {
  recordStatement,
  type RecordedStatement,
} from "../../src/desk/statements/receive-statement.ts";
import type { Desk } from "../../src/desk/desk.ts";
import type { Appliance, ApplianceOptions } from "./appliance.ts";
import {
  issueTestLicense,
  makeRequestFrom,
  openDeskAndSite,
  type DeskAndSite,
} from "./desk-and-site.ts";
import { unwrap } from "./licensed-store.ts";

export interface ReportingSite extends DeskAndSite {
  readonly license: number;
}

const TERMS: TermsChanges = {
  customer: "Initech",
  slots: 3,
  timeout_minutes: 60,
  consumption: { max: 10, overages: 5 },
  features: [{ code: "MESH", floating: { slots: 2, timeout_minutes: 60 } }],
};

/** Three slots of `sim` with 60 minutes, 10 counts and 5 above, and two slots of MESH. */
export async function openReportingSite(
  terms: TermsChanges = {},
  options: ApplianceOptions = {},
): Promise<ReportingSite> {
  const deskAndSite = await openDeskAndSite(options);
  const license = await installLicense(deskAndSite, "sim", { ...TERMS, ...terms });
  return { ...deskAndSite, license };
}

export async function installLicense(
  { desk, site }: DeskAndSite,
  product: string,
  terms: TermsChanges = {},
): Promise<number> {
  const request = await makeRequestFrom(site, product);
  const { document } = await issueTestLicense(desk, request, {
    terms,
    isNew: true,
    now: site.clock.now,
  });
  return unwrap(await site.licensing.installLicense(document, "test")).id;
}

/** Moves the clock to an hour of a day, counted from the day of MONDAY. */
export function goTo(site: Appliance, day: number, hour = 9): void {
  site.clock.now = atDay(day, hour);
}

const FIRST_DAY = instant(Date.UTC(2026, 2, 2));

export const atDay = (day: number, hour = 0): Instant =>
  later(FIRST_DAY, day * DAY + hour * 3_600_000);

export async function makeStatement(site: Appliance, vendor: string | null = null) {
  const result = unwrap(await site.services.usageStatements.make(vendor, "test"));
  return { ...result.statement, isNew: result.isNew, unreportedDays: result.unreportedDays };
}

export async function readStatement(document: string): Promise<{
  readonly statement: UsageStatement;
  readonly figures: UsageFigures;
}> {
  return unwrap(await verifyUsageStatement(document));
}

export async function receive(
  desk: Desk,
  document: string,
  acceptForkReason: string | null = null,
  now: Instant = atDay(90),
): Promise<RecordedStatement> {
  const options = { acceptForkReason, now };
  return recordStatement(desk, document, options);
}
