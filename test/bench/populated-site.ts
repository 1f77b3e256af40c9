// `populated-site.ts FOLDER REGISTRATIONS [distinct-addresses]` makes a site whose slots are taken. So many cannot be asked
// for one by one each time: they are put into its state, which is then written as a checkpoint
// writes it. They speak from one address, as the clients here do, or each from one of their own.
import { later, MINUTE } from "../../src/domain/time.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { decodeSnapshot, encodeSnapshot, headOf } from "../../src/store/state-rows.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { newRegistration } from "../../src/domain/registration.ts";
import type { License, State } from "../../src/domain/state.ts";
import { consumptionTerms } from "../support/scenario.ts";
import { makeLicensedSite } from "../support/site-folder.ts";

export const PRODUCT = "cad";
/** Its only slot is taken. */
export const FULL_PRODUCT = "full";
/** With fewer slots than there are callers. */
export const CONTESTED_PRODUCT = "contested";

/** Free besides those of the crowd. */
const SPARE = 1_000;
export const CONTESTED_SLOTS = 16;

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
async function makeSiteFolder(
  folder: string,
  registrations: number,
  apart: boolean,
): Promise<void> {
  const timeoutMinutes = TIMEOUT_MINUTES;
  const borrowHours = TIMEOUT_MINUTES / 60;
  const consumption = consumptionTerms({ max: null });
  const slots = registrations + SPARE;
  await makeLicensedSite(folder, {
    product: PRODUCT,
    slots,
    timeoutMinutes,
    borrowHours,
    consumption,
  });
  await makeLicensedSite(folder, { product: FULL_PRODUCT, slots: 1, timeoutMinutes });
  await makeLicensedSite(folder, {
    product: CONTESTED_PRODUCT,
    slots: CONTESTED_SLOTS,
    timeoutMinutes,
  });
  const file = new StateFile(realDisk, folder);
  const before = await file.read();
  if (before === null) throw new Error(`${file.path} is not there`);
  const state = decodeSnapshot(before);
  addRegistrations(state, PRODUCT, registrations, apart);
  addRegistrations(state, FULL_PRODUCT, 1, apart);
  await file.write(encodeSnapshot(state, headOf(before), before.audit), null);
}

/** Gives slots to the first so many of the crowd. */
function addRegistrations(
  state: State,
  product: string,
  registrations: number,
  apart: boolean,
): void {
  const { pool } = licenseOf(state, product);
  const registeredAt = wallClock();
  const end = later(registeredAt, TIMEOUT_MINUTES * MINUTE);
  for (let index = 0; index < registrations; index += 1) {
    const told = contactOf(index);
    const contact = { ...told, peer: apart ? told.ip : "127.0.0.1" };
    const user = userOf(index);
    pool.add(newRegistration(state.nextSlot, user, registeredAt, end, contact));
    state.nextSlot += 1;
  }
}

function licenseOf({ products }: State, product: string): License {
  const [license] = products.get(product) ?? [];
  if (license === undefined) throw new Error(`there is no license for ${product}`);
  return license;
}

if (import.meta.main) {
  const [folder = "", registrations = "0", addresses] = process.argv.slice(2);
  await makeSiteFolder(folder, Number(registrations), addresses === "distinct-addresses");
}
