// A real server on a machine whose clock jumps while it runs: ahead, far ahead, back, far back, and
// every way out. Run by `bun run test:faults`; takes seconds.
import { rmSync } from "node:fs";
import { DAY, HOUR, MINUTE } from "../../../src/domain/time.ts";
import { findOrInstallFaketime, FaketimeMachine, type ClockReply } from "./faketime-machine.ts";
import { check, finish } from "../../support/suite-harness.ts";

/** What passes between a reading and its check. */
const SLACK = 20 * MINUTE;

function is(what: string, got: unknown, wanted: unknown): void {
  check(what, Bun.deepEquals(got, wanted), { got, wanted });
}

/** How far an instant is from the true time, in whole hours; what passes meanwhile is let go. */
function off(time: string): number | string {
  const hours = (Date.parse(time) - Date.now()) / HOUR;
  // Zero has a sign, which is not meant here.
  const whole = Math.round(hours) + 0;
  return Math.abs(hours - whole) * HOUR < SLACK ? whole : `${hours} h`;
}

const told = ({ state, now }: ClockReply) => ({ state, off: off(now) });

async function ahead(site: FaketimeMachine): Promise<void> {
  is("at first the clock is right", told(await site.runClockCommand()), { state: "ok", off: 0 });
  is("ada registers on a license with an end", await register(site, "ada"), "ok");

  site.setClockOffset(HOUR);
  is("an hour ahead: followed at once", told(await site.runClockCommand()), {
    state: "ok",
    off: 1,
  });
  is("and by status", off((await site.readStatus()).now), 1);
  is("ada's heartbeat goes on", await register(site, "ada"), "ok");

  site.setClockOffset(-HOUR);
  const behind = await site.runClockCommand();
  is("back two hours: time goes on", told(behind), { state: "behind", off: 1 });
  is("and the system's clock is shown as it is", off(behind.system_clock), -1);
  is("with a code for the vendor", typeof behind.code, "string");
  is("which is a warning only: bob registers", await register(site, "bob"), "ok");

  site.setClockOffset(30 * DAY);
  is("30 days ahead: held", told(await site.runClockCommand()), { state: "ahead", off: 1 });
  is("and by status, so the monotonic clock is real", off((await site.readStatus()).now), 1);
  is("nobody lost a slot by it", await register(site, "ada"), "ok");
  const accepted = await site.runClockCommand("accept");
  is("berth clock accept: believed", told(accepted), { state: "ok", off: 720 });

  await site.restartServer("SIGTERM", 60 * DAY);
  is("30 more at a start: at once", told(await site.runClockCommand()), { state: "ok", off: 1440 });
  is("and on record with the next change", await register(site, "ada"), "ok");
  await site.restartServer("SIGKILL", 600 * DAY);
  is("540 more at a start: held", told(await site.runClockCommand()), {
    state: "ahead",
    off: 1440,
  });
  site.setClockOffset(60 * DAY);
  is("right again: followed", told(await site.runClockCommand()), { state: "ok", off: 1440 });
}

const register = (site: FaketimeMachine, user: string, product = "CAD"): Promise<string> =>
  site.call("register", { product, user });

async function suspect(site: FaketimeMachine): Promise<string> {
  is("ada registers anew", await register(site, "ada"), "ok");
  site.setClockOffset(57 * DAY);
  const clock = await site.runClockCommand();
  is("back three days: suspect", told(clock), { state: "suspect", off: 1440 });
  is("nobody new on a license with an end", await register(site, "eve"), "clock_suspect");
  const borrow = { product: "CAD", user: "ada" };
  is("nothing borrowed from it", await site.call("borrow", borrow), "clock_suspect");
  is("ada's heartbeat goes on", await register(site, "ada"), "ok");
  is("a perpetual license is lent", await register(site, "eve", "MESH"), "ok");
  is("slots are given back", await site.call("unregister", borrow), "ok");
  await site.restartServer("SIGKILL");
  is("a restart is no way out", await register(site, "eve"), "clock_suspect");
  const stuck = await site.runClockCommand("accept");
  is("nor is berth clock accept", told(stuck), { state: "suspect", off: 1440 });
  return clock.code ?? "";
}

async function repair(site: FaketimeMachine, shownCode: string): Promise<void> {
  const data = ["--data", site.path("site")];
  const answer = async (code: string, name: string): Promise<string> => {
    const out = ["--dir", site.path("desk"), "--out", site.path(name)];
    await site.runBerthOrThrow("vendor", "time", "--code", code, ...out);
    return site.path(name);
  };
  is("looking again does not void the code", (await site.runClockCommand()).code, shownCode);
  const newer = await answer(shownCode, "newer");
  const wrong = await site.runBerth("vendor", "time", "--code", "0", "--dir", site.path("desk"));
  is("a vendor is told that a code is none", wrong.code, 1);

  const right = { state: "ok", off: 57 * 24 };
  is(
    "berth clock repair: time is set back",
    told(await site.runClockCommand("repair", newer)),
    right,
  );
  is("a license with an end is lent again", await register(site, "eve"), "ok");
  const again = await site.runBerth("clock", "repair", newer, ...data);
  is("the answer counts once", again.code, 1);
  await site.restartServer("SIGKILL");
  is("a kill and a restart later too", told(await site.runClockCommand()), right);
}

/** Nothing was lent that has an end: nobody gains by a clock that runs back. */
async function free(site: FaketimeMachine): Promise<void> {
  is("a perpetual license is lent", await register(site, "ada", "MESH"), "ok");
  await site.restartServer("SIGTERM", -3 * DAY);
  const clock = await site.runClockCommand();
  is("back three days while free: followed", told(clock), { state: "ok", off: -72 });
  is("and a license with an end is lent", await register(site, "ada"), "ok");
}

const FIRST = ["ada", "bob", "cid", "dan", "eve"];
const OTHERS = ["fay", "gus", "hal", "ivy", "joe"];

/** Of those who ask one after the other, what each one gets. */
async function borrowed(site: FaketimeMachine, users: readonly string[]): Promise<string[]> {
  const got: string[] = [];
  for (const user of users) got.push(await site.call("borrow", { product: "TRIP", user }));
  return got;
}

/** Borrows of the right time outlive a clock that was wrong, and no slot is lent twice. */
async function lentOnce(site: FaketimeMachine): Promise<void> {
  const granted = FIRST.map(() => "ok");
  is("five borrow for ten days", await borrowed(site, FIRST), granted);
  is("a sixth does not", await borrowed(site, ["fay"]), ["floating_not_available"]);
  const slots = async (): Promise<string[]> => {
    const text = await site.runBerthOrThrow("slots", "--data", site.path("site"), "--json");
    const all = JSON.parse(text) as { readonly user: string; readonly product: string }[];
    return all.flatMap(({ user, product }) => (product === "TRIP" ? [user] : [])).toSorted();
  };
  await site.restartServer("SIGTERM", 30 * DAY);
  is("started 30 days ahead: believed", told(await site.runClockCommand()), {
    state: "ok",
    off: 720,
  });
  await site.restartServer("SIGTERM", 0);
  is("right again: suspect", told(await site.runClockCommand()), { state: "suspect", off: 720 });
  const refused = OTHERS.map(() => "clock_suspect");
  is("nobody else gets their slots", await borrowed(site, OTHERS), refused);
  await setRight(site);
  is("set right: all five are held", await slots(), FIRST);
  const none = OTHERS.map(() => "floating_not_available");
  is("and nobody else gets a slot", await borrowed(site, OTHERS), none);

  site.setClockOffset(20 * HOUR);
  is("20 hours ahead: believed at once", told(await site.runClockCommand()), {
    state: "ok",
    off: 20,
  });
  is("a heartbeat in that time", await register(site, "ada", "TRIP"), "ok");
  site.setClockOffset(0);
  is("right again: behind", (await site.runClockCommand()).state, "behind");
  await setRight(site);
  is("set right: all five are held still", await slots(), FIRST);
  is("and nobody else gets a slot then", await borrowed(site, OTHERS), none);
  await site.restartServer("SIGKILL");
  is("nor after a kill", await borrowed(site, OTHERS), none);
}

async function setRight(site: FaketimeMachine): Promise<void> {
  const { code } = await site.runClockCommand();
  const file = site.path("time-answer");
  rmSync(file, { force: true });
  const desk = ["--dir", site.path("desk"), "--out", file];
  await site.runBerthOrThrow("vendor", "time", "--code", code ?? "", ...desk);
  const { state, off: by } = told(await site.runClockCommand("repair", file));
  is("the vendor's word sets it right", { state, off: by }, { state: "ok", off: 0 });
}

/** A clock that is stepped with every call: a daily limit is not to be had sixty times. */
async function steppedOften(site: FaketimeMachine): Promise<void> {
  const count = { product: "TRIP", consumptions: "100" };
  const got: string[] = [];
  for (let step = 1; step <= 60; step += 1) {
    site.setClockOffset(step * (23 * HOUR + 50 * MINUTE));
    got.push(await site.call("add_consumption", count));
  }
  // One day's, and another's if a midnight comes while this runs.
  const granted = got.filter((answer) => answer === "ok").length;
  const what = "60 steps of 23 h 50 min: the limit of one day is granted, not of sixty";
  check(what, granted === 1 || granted === 2, { granted });
  is("the rest is not believed", (await site.runClockCommand()).state, "ahead");
}

async function on(library: string, tell: (site: FaketimeMachine) => Promise<void>): Promise<void> {
  const site = new FaketimeMachine(library);
  try {
    await site.setUp();
    await tell(site);
  } finally {
    await site.tearDown();
  }
}

const library = findOrInstallFaketime();
if (library === null) {
  console.error("this needs a Debian package: apt-get install libfaketime");
  process.exit(1);
}
await on(library, async (site) => {
  await ahead(site);
  await repair(site, await suspect(site));
});
await on(library, free);
await on(library, lentOnce);
await on(library, steppedOften);
finish();
