import { describe, expect, test } from "bun:test";
import { AccessControl } from "../../src/operations/access-control.ts";
import { LoginRateLimiter } from "../../src/operations/login-rate-limiter.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { AccessFile } from "../../src/store/access-file.ts";
import { unwrap, openSite } from "../support/licensed-store.ts";

const MINUTE = 60_000;
const [ATTACKER, OPERATOR] = ["10.1.0.66", "10.1.0.5"];
const PASSWORD = "correct horse battery";

/** How many of so many wrong passwords are looked at. */
const lookedAt = (attempts: LoginRateLimiter, peer: string, name: string, tries: number, now = 0) =>
  Array.from({ length: tries }, () => attempts.tryAcquire(peer, name, now)).filter(Boolean).length;

const addresses = (count: number, network: number): string[] =>
  Array.from({ length: count }, (_, index) => `10.${network}.${index >> 8}.${index & 255}`);

test("wrong passwords from one address never refuse the right one from another", async () => {
  const site = await openSite();
  const clock = { now: 0 };
  const file = new AccessFile(realDisk, site.folder);
  const access = new AccessControl(site.store, file, () => clock.now);
  unwrap(await access.setUser("admin", "admin", PASSWORD, "test"));
  for (let minute = 0; minute < 5; minute += 1, clock.now += MINUTE) {
    const guesses = Array.from({ length: 20 }, (_, index) =>
      access.login("admin", `wrong guess ${index}`, ATTACKER),
    );
    const right = await access.login("admin", PASSWORD, OPERATOR);
    expect([minute, right.ok]).toEqual([minute, true]);
    const answers = (await Promise.all(guesses)).map((one) =>
      one.ok ? "granted" : one.fault.code,
    );
    expect(new Set(answers)).toEqual(new Set(["unauthorized", "too_many_requests"]));
  }
});

describe("the limits on wrong passwords", () => {
  test("an address may try 20 a minute, 10 of them for one name", () => {
    const attempts = new LoginRateLimiter();
    expect(lookedAt(attempts, ATTACKER, "admin", 100)).toBe(10);
    expect(lookedAt(attempts, ATTACKER, "ada", 100)).toBe(10);
    expect(lookedAt(attempts, ATTACKER, "bob", 100)).toBe(0);
    expect(lookedAt(attempts, ATTACKER, "bob", 1, MINUTE)).toBe(1);
  });

  test("while a name is under attack, another address may mistype its password twice", () => {
    const attempts = new LoginRateLimiter();
    expect(lookedAt(attempts, ATTACKER, "admin", 100)).toBe(10);
    expect(lookedAt(attempts, OPERATOR, "admin", 100)).toBe(3);
    expect(lookedAt(attempts, OPERATOR, "ada", 1)).toBe(1);
  });

  test("an address that has tried nothing yet is heard when ten others have used up the total", () => {
    const attempts = new LoginRateLimiter();
    const others = addresses(10, 2);
    const tried = others.flatMap((peer) =>
      ["ada", "bob"].map((name) => lookedAt(attempts, peer, `${name} of ${peer}`, 10)),
    );
    expect(tried).toEqual(Array(20).fill(10));
    expect(lookedAt(attempts, OPERATOR, "admin", 100)).toBe(1);
  });

  test("however many addresses try, no more than 300 passwords a minute are looked at", () => {
    const attempts = new LoginRateLimiter();
    const tried = addresses(1_000, 3).map((peer) => lookedAt(attempts, peer, `of ${peer}`, 5));
    expect(tried.reduce((sum, one) => sum + one)).toBe(300);
  });

  test("the right password does not count, however often it comes", () => {
    const attempts = new LoginRateLimiter();
    for (let login = 0; login < 1_000; login += 1) {
      expect(attempts.tryAcquire(OPERATOR, "admin", 0)).toBe(true);
      attempts.release(OPERATOR, "admin");
    }
    expect(lookedAt(attempts, OPERATOR, "admin", 100)).toBe(10);
  });
});
