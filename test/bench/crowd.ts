// `crowd.ts FOLDER REGISTRATIONS` makes a site whose slots are taken. So many cannot be asked for one
// by one each time: they are put into its state, which is then written as a checkpoint writes it.
import { later, MINUTE } from "../../src/domain/time.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { decodeSnapshot, encodeSnapshot, headOf } from "../../src/store/snapshot.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { makeSite } from "../support/site-folder.ts";

export const PRODUCT = "cad";

/** Nobody's slot ends while somebody looks at it. */
const TIMEOUT_MINUTES = 7 * 24 * 60;

/** What a heartbeat says of where it comes from: the same each time, so that it is only a renewal. */
export const contactOf = (index: number) => ({
  hostname: `workstation-${index}.engineering`,
  ip: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
  info: "",
});

export const userOf = (index: number): string => `user-${index}@initrode.example`;

/** A site's folder with a license that `registrations` users hold a slot of. */
async function makeCrowd(folder: string, registrations: number): Promise<void> {
  const slots = registrations + 1_000;
  const id = await makeSite(folder, { product: PRODUCT, slots, timeoutMinutes: TIMEOUT_MINUTES });
  const file = new StateFile(realDisk, folder);
  const before = await file.read();
  if (before === null) throw new Error(`${file.path} is not there`);
  const state = decodeSnapshot(before);
  const pool = state.licenses.get(id)?.pool;
  if (pool === undefined) throw new Error(`license ${id} is not there`);
  const registeredAt = wallClock();
  const end = later(registeredAt, TIMEOUT_MINUTES * MINUTE);
  for (let index = 0; index < registrations; index += 1) {
    const contact = { ...contactOf(index), peer: "127.0.0.1" };
    const user = userOf(index);
    const held = { slot: state.nextSlot, user, registeredAt, end, borrowedUntil: null, contact };
    pool.holders.set(user, held);
    pool.ends.add(held);
    state.nextSlot += 1;
  }
  await file.write(encodeSnapshot(state, headOf(before), before.audit), null);
}

if (import.meta.main) {
  const [folder = "", registrations = "0"] = process.argv.slice(2);
  await makeCrowd(folder, Number(registrations));
}
