import { describe, expect, test } from "bun:test";
import { describeBehind, describeClock, describeSeen } from "../../../src/web/pair/host-figures.ts";
import {
  addressAt,
  noteStandby,
  standbyNotice,
  type StandbyNotice,
} from "../../../src/web/pair/standby.ts";

describe("the figures of a host", () => {
  test.each([
    [null, "never"],
    [1.4, "1 s ago"],
    [119, "119 s ago"],
    [120, "2 min ago"],
    [3_599, "59 min ago"],
  ])("show a report %p seconds ago as %p", (seconds, text) => {
    expect(describeSeen(seconds)).toBe(text);
  });

  test.each([
    ["standby", null, "not known"],
    ["standby", 0, "up to date"],
    ["standby", 7, "7 lines"],
    ["leader", 7, "up to date"],
  ] as const)("show a host that is %s and lacks %p lines as %p", (role, lines, text) => {
    expect(describeBehind({ role, lines_behind: lines })).toBe(text);
  });

  test.each([
    [null, "not known"],
    [0, "in step"],
    [0.05, "in step"],
    [2.5, "2.5 s ahead"],
    [-3, "3 s behind"],
  ])("show a clock that is %p seconds ahead as %p", (ahead, text) => {
    expect(describeClock(ahead)).toBe(text);
  });
});

describe("a refusal of a host that does not lead", () => {
  const note = (code: string, url?: string): StandbyNotice | null => {
    standbyNotice.value = null;
    noteStandby(code, new Headers(url === undefined ? {} : { "berth-leader": url }));
    return standbyNotice.peek();
  };

  test("is noted with the address of the leader", () => {
    expect(note("standby", "https://beta:8443")).toEqual({
      code: "standby",
      leaderUrl: "https://beta:8443",
    });
  });

  test("is noted without an address, if there is none", () => {
    expect(note("standby")).toEqual({ code: "standby", leaderUrl: null });
    expect(note("log_unavailable")).toEqual({ code: "log_unavailable", leaderUrl: null });
  });

  test.each(["javascript:alert(1)", "/other", "ftp://beta", "https:///x", "data:text/html,x"])(
    "does not become a link to %s",
    (url) => {
      expect(note("standby", url)).toEqual({ code: "standby", leaderUrl: null });
    },
  );

  test("is not noted for another code", () => {
    expect(note("storage_full", "https://beta:8443")).toBeNull();
  });

  test.each([
    ["https://beta:8443", "#/health", "https://beta:8443/#/health"],
    ["https://beta:8443/", "", "https://beta:8443/"],
  ])("leads from %s and %p to %s", (url, fragment, address) => {
    expect(addressAt(url, fragment)).toBe(address);
  });
});
