// `populated-site.ts FOLDER REGISTRATIONS [distinct-addresses]` creates a site with so many slots
// in use. Registering them by calls would take too long: they are added to the state, which is
// written like a checkpoint. They use one address, as the clients of the benchmark do, or distinct
// addresses.
import { later, MINUTE } from "../../src/domain/time.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { decodeSnapshot, encodeSnapshot, headOf } from "../../src/store/state/state-rows.ts";
import { StateFile } from "../../src/store/state/state-file.ts";
import {
  newRegistration,
  type MutableLicense,
  type MutableState,
} from "../../src/domain/evolve/mutable-state.ts";
import { consumptionTerms } from "../support/scenario.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { makeContact } from "../support/contact.ts";

export const PRODUCT = "cad";
/** Its only slot is in use. */
export const FULL_PRODUCT = "full";
/** It has fewer slots than callers. */
export const CONTESTED_PRODUCT = "contested";

/** Free slots besides those in use. */
const FREE_SLOTS = 1_000;
export const CONTESTED_SLOTS = 16;

/** No slot may end during the benchmark. */
const TIMEOUT_MINUTES = 7 * 24 * 60;

/** The contact of a user: the same in every heartbeat, so that it only renews the slot. */
export const contactOf = (index: number) => ({
  hostname: `workstation-${index}.engineering`,
  ip: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
});

export const userOf = (index: number): string => `user-${index}@initrode.example`;

/** The heartbeat of a user, as Berth takes it. */
export function heartbeatFields(index: number) {
  const { hostname: os_hostname, ip: ip_local } = contactOf(index);
  return { product: PRODUCT, user: userOf(index), os_hostname, ip_local, user_info: "" };
}

/** Creates a site with a license of which `registrations` users hold a slot. */
async function makeSiteFolder(
  folder: string,
  registrations: number,
  hasDistinctAddresses: boolean,
): Promise<void> {
  const timeoutMinutes = TIMEOUT_MINUTES;
  const borrowHours = TIMEOUT_MINUTES / 60;
  const consumption = consumptionTerms({ max: null });
  const slots = registrations + FREE_SLOTS;
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
  if (before === null) throw new Error(`${file.path} does not exist`);
  const state = decodeSnapshot(before) as MutableState;
  addRegistrations(state, PRODUCT, registrations, hasDistinctAddresses);
  addRegistrations(state, FULL_PRODUCT, 1, hasDistinctAddresses);
  await file.write(encodeSnapshot(state, headOf(before), before.audit), null);
}

/** Gives slots to the first `registrations` users. */
function addRegistrations(
  state: MutableState,
  product: string,
  registrations: number,
  hasDistinctAddresses: boolean,
): void {
  const { pool } = licenseOf(state, product);
  const registeredAt = wallClock();
  const end = later(registeredAt, TIMEOUT_MINUTES * MINUTE);
  for (let index = 0; index < registrations; index += 1) {
    const fields = contactOf(index);
    const contact = makeContact({
      ...fields,
      peer: hasDistinctAddresses ? fields.ip : "127.0.0.1",
    });
    const user = userOf(index);
    pool.add(newRegistration(state.nextSlot, user, registeredAt, end, contact));
    state.nextSlot += 1;
  }
}

function licenseOf({ products }: MutableState, product: string): MutableLicense {
  const [license] = products.get(product) ?? [];
  if (license === undefined) throw new Error(`there is no license for ${product}`);
  return license;
}

if (import.meta.main) {
  const [folder = "", registrations = "0", addresses] = process.argv.slice(2);
  await makeSiteFolder(folder, Number(registrations), addresses === "distinct-addresses");
}
