// After an attack: does what the server says it lent and counted fit the licenses, does it stop as it
// should, and is what it wrote whole?
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

const isWithinLimits = (counted: LimitedReply, max: number | null): boolean => {
  const { total_consumptions: total, max_overages: over } = counted;
  const isLent = counted.floating_in_use_devices <= counted.floating_users;
  return isLent && (max === null || (total ?? 0) <= max + (over ?? 0));
};

export async function checkAfterAttack({ server, token, folder }: AttackTarget): Promise<void> {
  const reply = await fetch(`${server.url}/api/admin/v1/licenses`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const licenses = (await reply.json()) as readonly LicenseReply[];
  const right = licenses.every(
    (license) =>
      isWithinLimits(license, license.max_consumptions) &&
      license.product_features.every((one) => isWithinLimits(one, one.max_consumption)),
  );
  check(`none of ${licenses.length} licenses lends or counts more than it has`, right, licenses);
  const code = await server.stop();
  check(`it stops with ${code}`, code === 0);
  check("berth verify finds nothing", verifies(folder));
}

function verifies(folder: string): boolean {
  try {
    runBerth("verify", "--data", folder);
    return true;
  } catch (error) {
    console.log(String(error));
    return false;
  }
}
