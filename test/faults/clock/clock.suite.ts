// Runs a real server on a machine whose clock jumps: ahead, far ahead, back and far back. Checks
// what the server grants meanwhile, and every way to correct the clock. Takes seconds.
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { DAY, HOUR, MINUTE } from "../../../src/domain/time.ts";
import { findOrInstallFaketime, FaketimeMachine, type ClockReply } from "./faketime-machine.ts";

/** More time than passes between a reading and its check. */
const TOLERANCE = 20 * MINUTE;

/** With the description on both sides, so that a failure says what was expected when. */
function checkEqual(description: string, actual: unknown, expected: unknown): void {
  expect({ [description]: actual }).toEqual({ [description]: expected });
}

/** How far an instant is from the true time, in whole hours; a text if it is not whole hours. */
function hoursOff(time: string): number | string {
  const hours = (Date.parse(time) - Date.now()) / HOUR;
  // Adding 0 turns -0 into 0, which deepEquals tells apart.
  const whole = Math.round(hours) + 0;
  return Math.abs(hours - whole) * HOUR < TOLERANCE ? whole : `${hours} h`;
}

const summarize = ({ state, now }: ClockReply) => ({ state, hoursOff: hoursOff(now) });

async function checkClockAhead(site: FaketimeMachine): Promise<void> {
  checkEqual(
    "berth clock reports ok on a machine with the right time",
    summarize(await site.runClockCommand()),
    { state: "ok", hoursOff: 0 },
  );
  checkEqual("a user registers on a license that expires", await register(site, "ada"), "ok");

  site.setClockOffset(HOUR);
  checkEqual(
    "berth clock follows a clock set one hour ahead at once",
    summarize(await site.runClockCommand()),
    {
      state: "ok",
      hoursOff: 1,
    },
  );
  checkEqual(
    "berth status follows a clock set one hour ahead",
    hoursOff((await site.readStatus()).now),
    1,
  );
  checkEqual(
    "a user renews after the clock was set one hour ahead",
    await register(site, "ada"),
    "ok",
  );

  site.setClockOffset(-HOUR);
  const behind = await site.runClockCommand();
  checkEqual(
    "berth clock reports behind, and does not go back, after the clock is set back two hours",
    summarize(behind),
    { state: "behind", hoursOff: 1 },
  );
  checkEqual(
    "berth clock shows the system clock as it is while it is behind",
    hoursOff(behind.system_clock),
    -1,
  );
  checkEqual(
    "berth clock shows a code for the vendor while the system clock is behind",
    typeof behind.code,
    "string",
  );
  checkEqual(
    "a new user registers while the system clock is two hours behind",
    await register(site, "bob"),
    "ok",
  );

  site.setClockOffset(30 * DAY);
  checkEqual(
    "berth clock reports ahead, and does not follow, a clock set 30 days ahead",
    summarize(await site.runClockCommand()),
    { state: "ahead", hoursOff: 1 },
  );
  checkEqual(
    "berth status does not follow a clock set 30 days ahead while the monotonic clock is right",
    hoursOff((await site.readStatus()).now),
    1,
  );
  checkEqual(
    "a user keeps the slot when the clock is set 30 days ahead",
    await register(site, "ada"),
    "ok",
  );
  const accepted = await site.runClockCommand("accept");
  checkEqual("berth clock accept accepts a clock set 30 days ahead", summarize(accepted), {
    state: "ok",
    hoursOff: 720,
  });

  await site.restartServer("SIGTERM", 60 * DAY);
  checkEqual(
    "a start follows a clock that is 30 days ahead at once",
    summarize(await site.runClockCommand()),
    { state: "ok", hoursOff: 1440 },
  );
  checkEqual(
    "a user registers after a start that followed 30 days ahead",
    await register(site, "ada"),
    "ok",
  );
  await site.restartServer("SIGKILL", 600 * DAY);
  checkEqual(
    "a start reports ahead, and does not follow, a clock that is 540 days ahead",
    summarize(await site.runClockCommand()),
    {
      state: "ahead",
      hoursOff: 1440,
    },
  );
  site.setClockOffset(60 * DAY);
  checkEqual(
    "berth clock reports ok when a clock that was ahead is set right",
    summarize(await site.runClockCommand()),
    { state: "ok", hoursOff: 1440 },
  );
}

const register = (site: FaketimeMachine, user: string, product = "CAD"): Promise<string> =>
  site.call("register", { product, user });

async function checkClockSuspect(site: FaketimeMachine): Promise<string> {
  checkEqual(
    "a user registers before the clock is set back three days",
    await register(site, "ada"),
    "ok",
  );
  site.setClockOffset(57 * DAY);
  const clock = await site.runClockCommand();
  checkEqual(
    "berth clock reports suspect after the clock is set back three days",
    summarize(clock),
    { state: "suspect", hoursOff: 1440 },
  );
  checkEqual(
    "a suspect clock refuses a new user on a license that expires",
    await register(site, "eve"),
    "clock_suspect",
  );
  const borrow = { product: "CAD", user: "ada" };
  checkEqual(
    "a suspect clock refuses a borrow from a license that expires",
    await site.call("borrow", borrow),
    "clock_suspect",
  );
  checkEqual("a user renews while the clock is suspect", await register(site, "ada"), "ok");
  checkEqual(
    "a perpetual license grants a slot while the clock is suspect",
    await register(site, "eve", "MESH"),
    "ok",
  );
  checkEqual(
    "a slot is released while the clock is suspect",
    await site.call("unregister", borrow),
    "ok",
  );
  await site.restartServer("SIGKILL");
  checkEqual(
    "a restart does not end the refusals of a suspect clock",
    await register(site, "eve"),
    "clock_suspect",
  );
  const unchanged = await site.runClockCommand("accept");
  checkEqual("berth clock accept does not accept a suspect clock", summarize(unchanged), {
    state: "suspect",
    hoursOff: 1440,
  });
  return clock.code ?? "";
}

async function checkRepair(site: FaketimeMachine, shownCode: string): Promise<void> {
  const data = ["--data", site.path("site")];
  const issueAnswer = async (code: string, name: string): Promise<string> => {
    const out = ["--dir", site.path("desk"), "--out", site.path(name)];
    await site.runBerthOrThrow("vendor", "time", "--code", code, ...out);
    return site.path(name);
  };
  checkEqual(
    "running berth clock again shows the same code",
    (await site.runClockCommand()).code,
    shownCode,
  );
  const answer = await issueAnswer(shownCode, "time-answer");
  const wrong = await site.runBerth("vendor", "time", "--code", "0", "--dir", site.path("desk"));
  checkEqual("berth vendor time refuses a malformed code", wrong.code, 1);

  const right = { state: "ok", hoursOff: 57 * 24 };
  checkEqual(
    "berth clock repair sets the time back with the vendor's answer",
    summarize(await site.runClockCommand("repair", answer)),
    right,
  );
  checkEqual(
    "a license that expires grants slots again after berth clock repair",
    await register(site, "eve"),
    "ok",
  );
  const again = await site.runBerth("clock", "repair", answer, ...data);
  checkEqual("berth clock repair refuses the same answer a second time", again.code, 1);
  await site.restartServer("SIGKILL");
  checkEqual(
    "the repaired time remains after a kill and a restart",
    summarize(await site.runClockCommand()),
    right,
  );
}

/** While no slot of a license that expires is in use, a clock that runs back extends nothing. */
async function checkFreeSetBack(site: FaketimeMachine): Promise<void> {
  checkEqual(
    "a perpetual license grants a slot on a machine with the right time",
    await register(site, "ada", "MESH"),
    "ok",
  );
  await site.restartServer("SIGTERM", -3 * DAY);
  const clock = await site.runClockCommand();
  checkEqual(
    "a start follows a clock set back three days while only a perpetual license is in use",
    summarize(clock),
    { state: "ok", hoursOff: -72 },
  );
  checkEqual(
    "a license that expires grants a slot after the clock was set back freely",
    await register(site, "ada"),
    "ok",
  );
}

const BORROWERS = ["ada", "bob", "cid", "dan", "eve"];
const OTHER_USERS = ["fay", "gus", "hal", "ivy", "joe"];

/** Borrows for the users one after the other; returns the outcome of each call. */
async function borrowEach(site: FaketimeMachine, users: readonly string[]): Promise<string[]> {
  const outcomes: string[] = [];
  for (const user of users) outcomes.push(await site.call("borrow", { product: "TRIP", user }));
  return outcomes;
}

/** Borrows outlive a clock that was wrong for a time, and no slot is granted twice. */
async function checkBorrowsOutliveWrongClock(site: FaketimeMachine): Promise<void> {
  const granted = BORROWERS.map(() => "ok");
  checkEqual(
    "five users borrow all five slots for ten days",
    await borrowEach(site, BORROWERS),
    granted,
  );
  checkEqual(
    "a sixth user cannot borrow while five slots are borrowed",
    await borrowEach(site, ["fay"]),
    ["floating_not_available"],
  );
  const readBorrowers = async (): Promise<string[]> => {
    const text = await site.runBerthOrThrow("slots", "--data", site.path("site"), "--json");
    const slots = JSON.parse(text) as { readonly user: string; readonly product: string }[];
    return slots.flatMap(({ user, product }) => (product === "TRIP" ? [user] : [])).toSorted();
  };
  await site.restartServer("SIGTERM", 30 * DAY);
  checkEqual(
    "a start 30 days ahead is followed after the borrows",
    summarize(await site.runClockCommand()),
    {
      state: "ok",
      hoursOff: 720,
    },
  );
  await site.restartServer("SIGTERM", 0);
  checkEqual(
    "a clock that was 30 days ahead and is set right is suspect",
    summarize(await site.runClockCommand()),
    { state: "suspect", hoursOff: 720 },
  );
  const refused = OTHER_USERS.map(() => "clock_suspect");
  checkEqual(
    "a suspect clock refuses to grant the borrowed slots to other users",
    await borrowEach(site, OTHER_USERS),
    refused,
  );
  await repairClock(site);
  checkEqual(
    "all five borrows remain after 30 days ahead and a repair",
    await readBorrowers(),
    BORROWERS,
  );
  const none = OTHER_USERS.map(() => "floating_not_available");
  checkEqual(
    "no other user gets a borrowed slot after 30 days ahead and a repair",
    await borrowEach(site, OTHER_USERS),
    none,
  );

  site.setClockOffset(20 * HOUR);
  checkEqual(
    "berth clock follows a clock set 20 hours ahead at once",
    summarize(await site.runClockCommand()),
    {
      state: "ok",
      hoursOff: 20,
    },
  );
  checkEqual(
    "a borrower renews while the clock is 20 hours ahead",
    await register(site, "ada", "TRIP"),
    "ok",
  );
  site.setClockOffset(0);
  checkEqual(
    "a clock that was 20 hours ahead and is set right is behind",
    (await site.runClockCommand()).state,
    "behind",
  );
  await repairClock(site);
  checkEqual(
    "all five borrows remain after 20 hours ahead and a repair",
    await readBorrowers(),
    BORROWERS,
  );
  checkEqual(
    "no other user gets a borrowed slot after 20 hours ahead and a repair",
    await borrowEach(site, OTHER_USERS),
    none,
  );
  await site.restartServer("SIGKILL");
  checkEqual(
    "no other user gets a borrowed slot after a kill",
    await borrowEach(site, OTHER_USERS),
    none,
  );
}

async function repairClock(site: FaketimeMachine): Promise<void> {
  const { code } = await site.runClockCommand();
  const file = site.path("time-answer");
  rmSync(file, { force: true });
  const desk = ["--dir", site.path("desk"), "--out", file];
  await site.runBerthOrThrow("vendor", "time", "--code", code ?? "", ...desk);
  const repaired = await site.runClockCommand("repair", file);
  checkEqual("berth clock repair sets the clock to the true time", summarize(repaired), {
    state: "ok",
    hoursOff: 0,
  });
}

/** A clock that jumps before every call must not grant a daily limit sixty times. */
async function checkRepeatedJumps(site: FaketimeMachine): Promise<void> {
  const consumption = { product: "TRIP", consumptions: "100" };
  const outcomes: string[] = [];
  for (let step = 1; step <= 60; step += 1) {
    site.setClockOffset(step * (23 * HOUR + 50 * MINUTE));
    outcomes.push(await site.call("add_consumption", consumption));
  }
  // Two if midnight passes while this runs.
  const granted = outcomes.filter((outcome) => outcome === "ok").length;
  expect(granted).toBeWithin(1, 3);
  checkEqual(
    "berth clock reports ahead after 60 jumps of 23 h 50 min",
    (await site.runClockCommand()).state,
    "ahead",
  );
}

const library = findOrInstallFaketime();
if (library === null) {
  throw new Error("the clock suite needs a Debian package: apt-get install libfaketime");
}

/** Each test has its own machine: what it does to the clock depends on what was done before. */
const testMachine = (title: string, runChecks: (site: FaketimeMachine) => Promise<void>): void =>
  test(title, async () => {
    const site = new FaketimeMachine(library);
    try {
      await site.setUp();
      await runChecks(site);
    } finally {
      await site.tearDown();
    }
  });

testMachine(
  "a clock is followed a day ahead, suspected when it is set back, and repaired with an answer",
  async (site) => {
    await checkClockAhead(site);
    await checkRepair(site, await checkClockSuspect(site));
  },
);
testMachine(
  "a clock is followed back while no slot of a license that expires is in use",
  checkFreeSetBack,
);
testMachine(
  "borrows outlive a clock that was wrong, and no slot is granted twice",
  checkBorrowsOutliveWrongClock,
);
testMachine(
  "60 jumps of 23 h 50 min grant the daily limit once, or twice at midnight, not 60 times",
  checkRepeatedJumps,
);
