// Checks after an attack: slots and consumption are within the limits of the licenses, the server
// stops with code 0, and `berth verify` finds its data folder intact.
import { check } from "../support/suite-harness.ts";
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

export async function checkAfterAttack({ server, token, folder }: AttackTarget): Promise<void> {
  const reply = await fetch(`${server.url}/api/admin/v1/licenses`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const licenses = (await reply.json()) as readonly LicenseReply[];
  const areWithinLimits = licenses.every(
    (license) =>
      isWithinLimits(license, license.max_consumptions) &&
      license.product_features.every((feature) => isWithinLimits(feature, feature.max_consumption)),
  );
  check(
    `after the attack none of ${licenses.length} licenses exceeds its slots or consumption`,
    areWithinLimits,
    licenses,
  );
  const code = await server.stop();
  check(`after the attack the server stops with exit code 0 (${code})`, code === 0);
  check("after the attack berth verify finds no damage", isVerified(folder));
}

function isVerified(folder: string): boolean {
  try {
    runBerth("verify", "--data", folder);
    return true;
  } catch (error) {
    console.log(String(error));
    return false;
  }
}
