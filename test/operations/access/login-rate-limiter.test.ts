import { describe, expect, test } from "bun:test";
import { AccessControl } from "../../../src/operations/access/access-control.ts";
import { LoginRateLimiter } from "../../../src/operations/access/login-rate-limiter.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { AccessFile } from "../../../src/store/secrets/access-file.ts";
import { unwrap, openSite } from "../../support/licensed-store.ts";

const MINUTE = 60_000;
const [ATTACKER, OPERATOR] = ["10.1.0.66", "10.1.0.5"];
const PASSWORD = "correct horse battery";

/** How many of so many wrong passwords are checked. */
const countChecked = (
  limiter: LoginRateLimiter,
  peer: string,
  name: string,
  tries: number,
  now = 0,
) =>
  Array.from({ length: tries }, () => limiter.tryAcquire(peer, name, now)).filter(Boolean).length;

const addresses = (count: number, network: number): string[] =>
  Array.from({ length: count }, (_, index) => `10.${network}.${index >> 8}.${index & 255}`);

test("AccessControl accepts the right password while another address sends wrong ones", async () => {
  const site = await openSite();
  const clock = { now: 0 };
  const file = new AccessFile(realDisk, site.folder);
  const access = new AccessControl(site.store, file, () => clock.now);
  unwrap(await access.setUser("admin", "admin", PASSWORD, "test"));
  for (let minute = 0; minute < 2; minute += 1, clock.now += MINUTE) {
    const guesses = Array.from({ length: 20 }, (_, index) =>
      access.login("admin", `wrong guess ${index}`, ATTACKER),
    );
    const right = await access.login("admin", PASSWORD, OPERATOR);
    expect([minute, right.ok]).toEqual([minute, true]);
    const answers = (await Promise.all(guesses)).map((answer) =>
      answer.ok ? "granted" : answer.fault.code,
    );
    expect(new Set(answers)).toEqual(new Set(["unauthorized", "too_many_requests"]));
  }
});

describe("LoginRateLimiter", () => {
  test("allows an address 20 attempts a minute, 10 of them for one name", () => {
    const limiter = new LoginRateLimiter();
    expect(countChecked(limiter, ATTACKER, "admin", 100)).toBe(10);
    expect(countChecked(limiter, ATTACKER, "ada", 100)).toBe(10);
    expect(countChecked(limiter, ATTACKER, "bob", 100)).toBe(0);
    expect(countChecked(limiter, ATTACKER, "bob", 1, MINUTE)).toBe(1);
  });

  test("counts the attempts of all addresses of an IPv6 subnet together", () => {
    const limiter = new LoginRateLimiter();
    const guesses = Array.from({ length: 50 }, (_, index) =>
      limiter.tryAcquire(`fd00:1::${index + 1}`, `user-${index}`, 0),
    );
    expect(guesses.filter(Boolean)).toHaveLength(20);
    expect(limiter.tryAcquire("fd00:1:0:1::1", "ada", 0)).toBe(true);
    limiter.release("fd00:1::99", "user-0");
    expect(limiter.tryAcquire("fd00:1::7", "ada", 0)).toBe(true);
  });

  test("allows another address 3 attempts for a name that is under attack", () => {
    const limiter = new LoginRateLimiter();
    expect(countChecked(limiter, ATTACKER, "admin", 100)).toBe(10);
    expect(countChecked(limiter, OPERATOR, "admin", 100)).toBe(3);
    expect(countChecked(limiter, OPERATOR, "ada", 1)).toBe(1);
  });

  test("allows a new address 1 attempt when ten others have used up the total", () => {
    const limiter = new LoginRateLimiter();
    const others = addresses(10, 2);
    const checked = others.flatMap((peer) =>
      ["ada", "bob"].map((name) => countChecked(limiter, peer, `${name} of ${peer}`, 10)),
    );
    expect(checked).toEqual(Array(20).fill(10));
    expect(countChecked(limiter, OPERATOR, "admin", 100)).toBe(1);
  });

  test("allows at most 300 attempts a minute from any number of addresses", () => {
    const limiter = new LoginRateLimiter();
    const checked = addresses(1_000, 3).map((peer) => countChecked(limiter, peer, `of ${peer}`, 5));
    expect(checked.reduce((sum, count) => sum + count)).toBe(300);
  });

  test("does not count right passwords", () => {
    const limiter = new LoginRateLimiter();
    for (let login = 0; login < 1_000; login += 1) {
      expect(limiter.tryAcquire(OPERATOR, "admin", 0)).toBe(true);
      limiter.release(OPERATOR, "admin");
    }
    expect(countChecked(limiter, OPERATOR, "admin", 100)).toBe(10);
  });
});
