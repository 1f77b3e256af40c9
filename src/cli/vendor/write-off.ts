import type { WriteOff } from "../../desk/orders/write-off.ts";
import type { IssuedEntry } from "../../desk/ledger/ledger-entries.ts";
import { Misuse } from "../frame/options.ts";

interface WriteOffFlags {
  readonly writeOff: string | null;
  readonly reason: string | null;
}

export function readWriteOff({ writeOff: appliance, reason }: WriteOffFlags): WriteOff | null {
  if (appliance === null && reason === null) return null;
  if (appliance === null)
    throw new Misuse("--reason is for --write-off", "omit it, or name the lost appliance");
  if (reason === null || reason.trim() === "") {
    throw new Misuse(
      "--write-off needs a reason, which the ledger keeps",
      '--write-off APPLIANCE --reason "the disk died"',
    );
  }
  return { appliance, reason };
}

/** What the vendor should know: the lost license goes on wherever its machine runs. */
export function describeLost({ license_id, appliance, terms }: IssuedEntry): string {
  const end = terms.valid_until;
  const until = end === null ? "it has no end" : `it ends on ${end}`;
  return `license ${license_id} of appliance ${appliance} is written off; if its machine runs again, ${until}`;
}
