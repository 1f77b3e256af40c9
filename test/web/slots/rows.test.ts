import { describe, expect, test } from "bun:test";
import type { RegistrationReply } from "../../../src/http/routes/slots/registrations.ts";
import { COLUMN_VIEWS, type Column } from "../../../src/web/slots/columns.ts";
import { csvFileName, csvOf } from "../../../src/web/slots/csv.ts";
import { releaseCommand } from "../../../src/web/slots/release-command.ts";
import {
  filterRows,
  toggleOrder,
  rowOf,
  sortRows,
  type SlotFilter,
} from "../../../src/web/slots/rows.ts";
import { visibleRowsOf } from "../../../src/web/slots/visible-rows.ts";
import { makeRegistration } from "../make-registration.ts";

const registration = (user: string, changes: Partial<RegistrationReply> = {}) =>
  makeRegistration(user, { product: "cad", ...changes });

const row = (user: string, changes: Partial<RegistrationReply> = {}) =>
  rowOf(registration(user, changes));

const ALL: SlotFilter = { search: "", product: "", borrowedOnly: false };
const usersOf = (rows: readonly { readonly registration: { readonly user: string } }[]): string[] =>
  rows.map(({ registration }) => registration.user);

describe("filterRows", () => {
  const rows = [
    row("Ada", { os_hostname: "WS-7", features: ["mesh"] }),
    row("bob", { ip_local: "10.9.8.7", user_info: "night shift" }),
    row("cid", { product: "cam", peer: "192.168.0.5", borrowed_until: "2026-04-01T00:00:00.000Z" }),
  ];
  const usersMatching = (filter: Partial<SlotFilter>) =>
    usersOf(filterRows(rows, { ...ALL, ...filter }));

  test.each([
    ["ADA", ["Ada"]],
    ["ws-7", ["Ada"]],
    ["mesh", ["Ada"]],
    ["10.9.8", ["bob"]],
    ["night", ["bob"]],
    ["192.168", ["cid"]],
    ["cam", ["cid"]],
    ["ada mesh", ["Ada"]],
    ["ada night", []],
    ["  ", ["Ada", "bob", "cid"]],
  ])("finds by %j the users %j", (search, users) => {
    expect(usersMatching({ search })).toEqual(users);
  });

  test("does not match a word across two fields", () => {
    expect(usersMatching({ search: "bobcad" })).toEqual([]);
  });

  test("filters by product and by borrowed slots", () => {
    expect(usersMatching({ product: "cad" })).toEqual(["Ada", "bob"]);
    expect(usersMatching({ borrowedOnly: true })).toEqual(["cid"]);
    expect(usersMatching({ product: "cad", borrowedOnly: true })).toEqual([]);
  });
});

describe("the column of addresses", () => {
  const addressOf = (changes: Partial<RegistrationReply>): string =>
    COLUMN_VIEWS.address.text(row("ada", { peer: "10.0.0.3", ...changes }).registration, 0);

  test("begins with the address that the server saw, whatever the caller reports", () => {
    expect(addressOf({ ip_local: "" })).toBe("10.0.0.3");
    expect(addressOf({ ip_local: "10.0.0.3" })).toBe("10.0.0.3");
    expect(addressOf({ ip_local: "192.168.1.7" })).toBe("10.0.0.3 (reports 192.168.1.7)");
    expect(addressOf({ ip_local: "x".repeat(256) })).toStartWith("10.0.0.3 (reports xxx");
  });
});

describe("sortRows", () => {
  const rows = [
    row("user-10", { registered_at: "2026-03-02T08:00:00.000Z" }),
    row("User-9", { registered_at: "2026-03-02T07:00:00.000Z", peer: "10.0.0.20" }),
    row("ada", { borrowed_until: "2026-05-01T00:00:00.000Z", peer: "10.0.0.3" }),
  ];
  const usersSortedBy = (column: Column, descending = false) =>
    usersOf(sortRows(rows, { column, descending }));

  test("sorts numbers in names by value and ignores case", () => {
    expect(usersSortedBy("user")).toEqual(["ada", "User-9", "user-10"]);
    expect(usersSortedBy("user", true)).toEqual(["user-10", "User-9", "ada"]);
  });

  test("sorts times, durations and addresses by value, slots that are not borrowed first", () => {
    expect(usersSortedBy("duration")).toEqual(["ada", "user-10", "User-9"]);
    expect(usersSortedBy("borrowed")).toEqual(["User-9", "user-10", "ada"]);
    expect(usersSortedBy("address")).toEqual(["user-10", "ada", "User-9"]);
  });

  test("has the longest held slot first among equal rows, in both directions", () => {
    expect(usersSortedBy("product")).toEqual(["User-9", "user-10", "ada"]);
    expect(usersSortedBy("product", true)).toEqual(["User-9", "user-10", "ada"]);
  });

  test("reverses a column on the second click and starts another column ascending", () => {
    const first = toggleOrder("user", { column: "duration", descending: true });
    expect(first).toEqual({ column: "user", descending: false });
    expect(toggleOrder("user", first)).toEqual({ column: "user", descending: true });
  });
});

describe("csvOf", () => {
  const COLUMNS_SHOWN = ["product", "user", "host", "info"] as const;
  const lineOf = (changes: Partial<RegistrationReply>): string =>
    csvOf([row("ada", changes)], COLUMNS_SHOWN)
      .split("\r\n")
      .slice(1)
      .join("\r\n");

  test("writes the columns that are shown, each line ending with CRLF", () => {
    expect(csvOf([row("ada"), row("bob")], ["user", "product"])).toBe(
      "User,Product\r\nada,cad\r\nbob,cad\r\n",
    );
  });

  test("writes times in UTC, and an empty cell for no time", () => {
    const borrowed = row("ada", { borrowed_until: "2026-04-01T00:00:00.000Z" });
    expect(csvOf([borrowed, row("bob")], ["user", "lastSeen", "duration", "borrowed"])).toBe(
      "User,Last seen (UTC),In use since (UTC),Borrowed until (UTC)\r\n" +
        "ada,2026-03-02 09:00:00 UTC,2026-03-02 09:00:00 UTC,2026-04-01 00:00:00 UTC\r\n" +
        "bob,2026-03-02 09:00:00 UTC,2026-03-02 09:00:00 UTC,\r\n",
    );
  });

  test("quotes a field that contains a comma, quote or line break", () => {
    expect(lineOf({ user_info: 'a "b", c' })).toEndWith(',"a ""b"", c"\r\n');
    expect(lineOf({ user_info: "two\nlines" })).toEndWith(',"two\nlines"\r\n');
  });

  test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])(
    "escapes %j so that a spreadsheet does not read it as a formula",
    (user) => {
      const cell = csvOf([row(user)], ["user"]).split("\r\n")[1];
      expect(cell?.replace(/^"/, "")[0]).toBe("'");
    },
  );

  test("escapes formulas after semicolons, tabs and line breaks", () => {
    for (const end of [";", "\t", "\n", "\r", ";;"]) {
      const text = lineOf({ user_info: `a${end}=1+1${end}@x${end}b` });
      const cells = text.split(/[;\t\r\n]/);
      expect(cells.filter((cell) => /^["\s]*[=+\-@]/.test(cell))).toEqual([]);
    }
    expect(lineOf({ user_info: "a;=1+1" })).toEndWith(`,"a;'=1+1"\r\n`);
    expect(lineOf({ user_info: "left; right" })).toEndWith(`,"left; right"\r\n`);
  });

  test("does not escape a formula character inside a field", () => {
    expect(lineOf({ os_hostname: "a=b-c" })).toContain(",a=b-c,");
  });
});

test.each([
  ["Plant 4", "slots-plant-4-2026-03-02.csv"],
  ["../../etc", "slots-etc-2026-03-02.csv"],
  ["Werk Süd", "slots-werk-sud-2026-03-02.csv"],
  ["", "slots-2026-03-02.csv"],
])("the CSV file of the site %j is named %j", (site, name) => {
  expect(csvFileName(site, new Date("2026-03-02T09:00:00Z"))).toBe(name);
});

describe("releaseCommand", () => {
  test.each([
    ["ada", "CAD", "release --user ada --product CAD"],
    ["Ada L", "CAD", "release --user 'Ada L' --product CAD"],
    ["o'neil", "CAD", String.raw`release --user 'o'\''neil' --product CAD`],
    ["$(reboot)", "a;b", "release --user '$(reboot)' --product 'a;b'"],
    ["--json", "CAD", "release --user=--json --product CAD"],
  ])("quotes the user %j and the product %j", (user, product, command) => {
    expect(releaseCommand(user, product)).toBe(command);
  });
});

describe("visibleRowsOf", () => {
  test("returns the rows in view and a few beyond, within the list", () => {
    expect(visibleRowsOf(0, 10, 10_000)).toEqual({ first: 0, end: 16 });
    expect(visibleRowsOf(100, 10, 10_000)).toEqual({ first: 94, end: 116 });
    expect(visibleRowsOf(9_990, 10, 10_000)).toEqual({ first: 9_984, end: 10_000 });
    expect(visibleRowsOf(0, 10, 3)).toEqual({ first: 0, end: 3 });
    expect(visibleRowsOf(0, 10, 0)).toEqual({ first: 0, end: 0 });
  });

  test("returns the last rows of a list that became shorter than the scroll position", () => {
    expect(visibleRowsOf(8_000, 10, 20)).toEqual({ first: 14, end: 20 });
  });
});
