// An application that needs a license: how a vendor integrates berth.js.
//
//   node app.mjs SERVERS USER ROOT_KEY          hold a slot, use a feature, count
//   node app.mjs SERVERS USER ROOT_KEY trip     borrow the slot, to work offline
//   node app.mjs SERVERS USER ROOT_KEY back     return the borrowed slot
//
// SERVERS are the URLs of the license server, separated by commas: two for a pair. ROOT_KEY is the
// public root key of the vendor, 43 characters; `berth demo` prints it. A real application has it
// inside.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";
import { BerthError, Client, LeaseRefusedError, NoFreeSlotError } from "./berth.js";

const PRODUCT = "DEMO";
const LEASE_FILE = "lease.jwt";
const LICENSE_FILE = "license.jwt";

/** The saved lease, if it still allows to work; it is checked without a server. */
async function readTrip(client) {
  if (!existsSync(LEASE_FILE) || !existsSync(LICENSE_FILE)) return null;
  try {
    return await client.verify(
      readFileSync(LEASE_FILE, "utf8"),
      readFileSync(LICENSE_FILE, "utf8"),
    );
  } catch (error) {
    if (!(error instanceof LeaseRefusedError)) throw error;
    console.log(`the saved lease cannot be used: ${error.message}`);
    return null;
  }
}

/** The borrow outlives this process: what proves it is saved beside the application. */
async function beginTrip(client, user) {
  // A week. A real application asks the user.
  const until = new Date(Date.now() + 7 * 86_400_000);
  const { borrowedUntil, lease, license } = await client.borrow(user, { until });
  writeFileSync(LEASE_FILE, lease);
  writeFileSync(LICENSE_FILE, license);
  console.log(`borrowed until ${borrowedUntil}`);
  return 0;
}

async function endTrip(client, user) {
  await client.release(user);
  for (const path of [LEASE_FILE, LICENSE_FILE]) rmSync(path, { force: true });
  console.log("returned");
  return 0;
}

/** Heartbeats keep the slot in the background. */
async function work(client, user) {
  console.log("waiting for a slot, for at most 60 seconds");
  const slot = await client.acquire(user, {
    wait: 60,
    onWait: (position, length) => console.log(`waiting: place ${position} of ${length}`),
    // A real application lets the user save the work.
    onLoss: (_slot, error) => console.error(error.message),
  });
  try {
    console.log(`license ${slot.licenseId} until ${slot.expiresAt}`);
    const feature = await slot.acquireFeature("RENDER");
    console.log("rendering");
    await feature.release();
    const pages = await client.consume(3, { user });
    console.log(`${pages.total} of ${pages.maximum} pages are counted`);
    const exports = await client.consume(1, { feature: "EXPORT", user });
    console.log(`${exports.total} of ${exports.maximum} exports are counted`);
    // Before each long step: a lost license is not used any more.
    return slot.isHeld ? 0 : 1;
  } finally {
    await slot.release();
  }
}

async function run(client, user, command) {
  if (command === "trip") return beginTrip(client, user);
  if (command === "back") return endTrip(client, user);
  const trip = await readTrip(client);
  if (trip === null) return work(client, user);
  console.log(`offline as ${trip.user} until ${trip.expiresAt}`);
  return 0;
}

async function main([servers, user, rootKey, command]) {
  if (rootKey === undefined) {
    console.error("usage: node app.mjs SERVERS USER ROOT_KEY [trip|back]");
    return 2;
  }
  let client;
  try {
    client = new Client(servers, PRODUCT, { rootKeys: [rootKey] });
    return await run(client, user, command);
  } catch (error) {
    if (!(error instanceof BerthError)) throw error;
    console.error(
      `${error instanceof NoFreeSlotError ? "no license is free: " : ""}${error.message}`,
    );
    return 1;
  } finally {
    await client?.close();
  }
}

process.exitCode = await main(process.argv.slice(2));
