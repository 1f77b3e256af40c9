// What must hold after an attack: slots and consumption are within the limits of the licenses, the
// server stops with code 0, and `berth verify` finds its data folder intact.
import { expect, test } from "bun:test";
import { runBerth, type AttackTarget } from "./target.ts";

interface LimitedReply {
  readonly total_consumptions: number | null;
  readonly max_overages: number | null;
  readonly floating_users: number;
  readonly floating_in_use_devices: number;
}

interface LicenseReply extends LimitedReply {
  readonly max_consumptions: number | null;
  readonly product_features: readonly (LimitedReply & {
    readonly max_consumption: number | null;
  })[];
}

const isWithinLimits = (reply: LimitedReply, max: number | null): boolean => {
  const { total_consumptions: total, max_overages: over } = reply;
  const hasSlots = reply.floating_in_use_devices <= reply.floating_users;
  return hasSlots && (max === null || (total ?? 0) <= max + (over ?? 0));
};

const isLicenseWithinLimits = (license: LicenseReply): boolean =>
  isWithinLimits(license, license.max_consumptions) &&
  license.product_features.every((feature) => isWithinLimits(feature, feature.max_consumption));

export interface AfterAttack {
  /** The server was still running when the attack had ended. */
  readonly wasRunning: boolean;
  readonly licenses: readonly LicenseReply[];
  readonly exitCode: number;
  /** What `berth verify` found; null: nothing. */
  readonly damage: string | null;
}

/** Reads the licenses, stops the server and verifies its folder. */
export async function endAttack(target: AttackTarget): Promise<AfterAttack> {
  const { server, token, folder } = target;
  const wasRunning = target.isAlive();
  const reply = await fetch(`${server.url}/api/admin/v1/licenses`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const licenses = (await reply.json()) as readonly LicenseReply[];
  const exitCode = await server.stop();
  return { wasRunning, licenses, exitCode, damage: verify(folder) };
}

export function testAfterAttack(attack: string, after: () => AfterAttack): void {
  test(`the server is running after ${attack}`, () => {
    expect(after().wasRunning).toBe(true);
  });
  test(`no license exceeds its slots or consumption after ${attack}`, () => {
    const { licenses } = after();
    expect(licenses.length).toBeGreaterThan(0);
    expect(licenses.filter((license) => !isLicenseWithinLimits(license))).toEqual([]);
  });
  test(`the server stops with exit code 0 after ${attack}`, () => {
    expect(after().exitCode).toBe(0);
  });
  test(`berth verify finds no damage after ${attack}`, () => {
    expect(after().damage).toBeNull();
  });
}

function verify(folder: string): string | null {
  try {
    runBerth("verify", "--data", folder);
    return null;
  } catch (error) {
    return String(error);
  }
}
