import type { Instant } from "../../domain/time.ts";
import type { Desk } from "../desk.ts";
import type { DeskFacts, DeskRecords } from "../desk-records.ts";
import { DeskRefused, toObstacle, type Obstacle } from "../desk-refused.ts";
import {
  buildIssuedEntry,
  prepareLicense,
  signPrepared,
  type PreparedLicense,
} from "../issuing/issue.ts";
import { USUAL_OPTIONS } from "../issuing/issue-options.ts";
import type { IssuedEntry } from "../ledger/ledger-entries.ts";

export interface Renewed {
  /** The newest serial. */
  readonly license: IssuedEntry;
  /** Whether it was signed for this; false: it is as it was. */
  readonly isNew: boolean;
  /** Why it was not renewed; empty: it was, or need not be. */
  readonly obstacles: readonly Obstacle[];
}

/**
 * Signs a license again from the ledger, with the terms that it has or that its order sells now,
 * unless its newest serial has them and the key of the desk. What a person must decide stays as it
 * is.
 */
export const renewFromLedger = (desk: Desk, licenseId: number, now: Instant): Promise<Renewed> =>
  desk.transact(async (append) => {
    const { license, prepared, obstacles } = planRenewal(desk, licenseId, now);
    if (prepared === null) return { license, isNew: false, obstacles };
    return { license: await signPrepared(desk, prepared, append), isNew: true, obstacles };
  });

/** Finds out what would be renewed; the ledger goes on as if it were. */
export function rehearseRenewal(desk: DeskRecords, licenseId: number, now: Instant): Renewed {
  const { license, prepared, obstacles } = planRenewal(desk, licenseId, now);
  if (prepared === null) return { license, isNew: false, obstacles };
  const issued = buildIssuedEntry(prepared, desk.keys[0]?.id ?? "", "");
  desk.ledger.assume(issued);
  return { license: issued, isNew: true, obstacles };
}

interface Plan extends Pick<Renewed, "license" | "obstacles"> {
  /** Null: nothing is to be signed. */
  readonly prepared: PreparedLicense | null;
}

function planRenewal(desk: DeskFacts, licenseId: number, now: Instant): Plan {
  const license = desk.ledger.issuedAs(licenseId).at(-1);
  if (license === undefined) {
    throw new DeskRefused(
      `license ${licenseId} is not in the ledger`,
      "berth vendor list shows the licenses",
    );
  }
  try {
    const options = { ...USUAL_OPTIONS, request: null, renewLicenseId: licenseId, now };
    const prepared = prepareLicense(desk, options);
    const obstacles = prepared.reasons.map((reason) => ({ ...reason, hint: DECIDE_HINT }));
    const isCurrent = license.key === desk.keys[0]?.id && prepared.changes.length === 0;
    const isDone = obstacles.length > 0 || isCurrent;
    return { license, obstacles, prepared: isDone ? null : prepared };
  } catch (error) {
    return { license, obstacles: [toObstacle(error)], prepared: null };
  }
}

const DECIDE_HINT = "berth vendor issue --renew ID decides it";
