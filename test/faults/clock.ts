// A real server on a machine whose clock jumps while it runs: ahead, far ahead, back, far back, and
// every way out. Run by `bun run test:faults`; takes seconds.
import { DAY, HOUR, SECOND } from "../../src/domain/time.ts";
import { clockLibrary, Machine, type Clock } from "./machine.ts";
import { check, finish } from "./rig.ts";

/** What passes between a reading and its check. */
const SLACK = 20 * SECOND;

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

const told = ({ state, now }: Clock) => ({ state, off: off(now) });

async function ahead(site: Machine): Promise<void> {
  is("at first the clock is right", told(await site.clock()), { state: "ok", off: 0 });
  is("ada registers on a license with an end", await register(site, "ada"), "ok");

  site.jump(HOUR);
  is("an hour ahead: followed at once", told(await site.clock()), { state: "ok", off: 1 });
  is("and by status", off((await site.status()).now), 1);
  is("ada's heartbeat goes on", await register(site, "ada"), "ok");

  site.jump(-HOUR);
  const behind = await site.clock();
  is("back two hours: time goes on", told(behind), { state: "behind", off: 1 });
  is("and the system's clock is shown as it is", off(behind.system_clock), -1);
  is("with a code for the vendor", typeof behind.code, "string");
  is("which is a warning only: bob registers", await register(site, "bob"), "ok");

  site.jump(30 * DAY);
  is("30 days ahead: held", told(await site.clock()), { state: "ahead", off: 1 });
  is("and by status, so the monotonic clock is real", off((await site.status()).now), 1);
  is("nobody lost a slot by it", await register(site, "ada"), "ok");
  const accepted = await site.clock("accept");
  is("berth clock accept: believed", told(accepted), { state: "ok", off: 720 });

  await site.restart("SIGTERM", 60 * DAY);
  is("30 more at a start: at once", told(await site.clock()), { state: "ok", off: 1440 });
  is("and on record with the next change", await register(site, "ada"), "ok");
  await site.restart("SIGKILL", 600 * DAY);
  is("540 more at a start: held", told(await site.clock()), { state: "ahead", off: 1440 });
  site.jump(60 * DAY);
  is("right again: followed", told(await site.clock()), { state: "ok", off: 1440 });
}

const register = (site: Machine, user: string, product = "CAD"): Promise<string> =>
  site.call("register", { product, user });

async function suspect(site: Machine): Promise<string> {
  is("ada registers anew", await register(site, "ada"), "ok");
  site.jump(57 * DAY);
  const clock = await site.clock();
  is("back three days: suspect", told(clock), { state: "suspect", off: 1440 });
  is("nobody new on a license with an end", await register(site, "eve"), "clock_suspect");
  const borrow = { product: "CAD", user: "ada" };
  is("nothing borrowed from it", await site.call("borrow", borrow), "clock_suspect");
  is("ada's heartbeat goes on", await register(site, "ada"), "ok");
  is("a perpetual license is lent", await register(site, "eve", "MESH"), "ok");
  is("slots are given back", await site.call("unregister", borrow), "ok");
  await site.restart("SIGKILL");
  is("a restart is no way out", await register(site, "eve"), "clock_suspect");
  const stuck = await site.clock("accept");
  is("nor is berth clock accept", told(stuck), { state: "suspect", off: 1440 });
  return clock.code ?? "";
}

async function repair(site: Machine, shownCode: string): Promise<void> {
  const data = ["--data", site.path("site")];
  const answer = async (code: string, name: string): Promise<string> => {
    const out = ["--dir", site.path("desk"), "--out", site.path(name)];
    await site.done("vendor", "time", "--code", code, ...out);
    return site.path(name);
  };
  is("looking again does not void the code", (await site.clock()).code, shownCode);
  const newer = await answer(shownCode, "newer");
  const wrong = await site.berth("vendor", "time", "--code", "0", "--dir", site.path("desk"));
  is("a vendor is told that a code is none", wrong.code, 1);

  const right = { state: "ok", off: 57 * 24 };
  is("berth clock repair: time is set back", told(await site.clock("repair", newer)), right);
  is("a license with an end is lent again", await register(site, "eve"), "ok");
  const again = await site.berth("clock", "repair", newer, ...data);
  is("the answer counts once", again.code, 1);
  await site.restart("SIGKILL");
  is("a kill and a restart later too", told(await site.clock()), right);
}

/** Nothing was lent that has an end: nobody gains by a clock that runs back. */
async function free(site: Machine): Promise<void> {
  is("a perpetual license is lent", await register(site, "ada", "MESH"), "ok");
  await site.restart("SIGTERM", -3 * DAY);
  const clock = await site.clock();
  is("back three days while free: followed", told(clock), { state: "ok", off: -72 });
  is("and a license with an end is lent", await register(site, "ada"), "ok");
}

async function on(library: string, tell: (site: Machine) => Promise<void>): Promise<void> {
  const site = new Machine(library);
  try {
    await site.open();
    await tell(site);
  } finally {
    await site.close();
  }
}

const library = clockLibrary();
if (library === null) {
  console.error("this needs a Debian package: apt-get install libfaketime");
  process.exit(1);
}
await on(library, async (site) => {
  await ahead(site);
  await repair(site, await suspect(site));
});
await on(library, free);
finish();
