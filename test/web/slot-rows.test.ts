import { describe, expect, test } from "bun:test";
import type { RegistrationReply } from "../../src/http/routes/admin.ts";
import { formatDateTime } from "../../src/web/format.ts";
import { csvOf } from "../../src/web/slots/csv.ts";
import { pauseAfterRead } from "../../src/web/slots/read-interval.ts";
import { releaseCommand } from "../../src/web/slots/release-command.ts";
import {
  filterRows,
  toggleOrder,
  rowOf,
  sortRows,
  type Column,
  type SlotFilter,
} from "../../src/web/slots/rows.ts";
import { visibleRowsOf } from "../../src/web/slots/visible-rows.ts";

const registration = (user: string, differing: Partial<RegistrationReply> = {}) => ({
  product: "cad",
  license_id: 1,
  user,
  os_hostname: "",
  ip_local: "",
  user_info: "",
  peer: "10.0.0.1",
  registered_at: "2026-03-02T09:00:00.000Z",
  expires_at: "2026-03-02T09:30:00.000Z",
  borrowed_until: null,
  features: [],
  ...differing,
});

const row = (user: string, differing: Partial<RegistrationReply> = {}) =>
  rowOf(registration(user, differing));

const ALL: SlotFilter = { search: "", product: "", borrowedOnly: false };
const usersOf = (rows: readonly { readonly registration: { readonly user: string } }[]): string[] =>
  rows.map(({ registration }) => registration.user);

describe("searching", () => {
  const rows = [
    row("Ada", { os_hostname: "WS-7", features: ["mesh"] }),
    row("bob", { ip_local: "10.9.8.7", user_info: "night shift" }),
    row("cid", { product: "cam", peer: "192.168.0.5", borrowed_until: "2026-04-01T00:00:00.000Z" }),
  ];
  const found = (filter: Partial<SlotFilter>) => usersOf(filterRows(rows, { ...ALL, ...filter }));

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
  ])("%j finds %j", (search, users) => {
    expect(found({ search })).toEqual(users);
  });

  test("a time is found as it is shown", () => {
    expect(found({ search: formatDateTime("2026-04-01T00:00:00.000Z") })).toEqual(["cid"]);
  });

  test("no word is found across two fields", () => {
    expect(found({ search: "bobcad" })).toEqual([]);
  });

  test("by product, and borrowed ones only", () => {
    expect(found({ product: "cad" })).toEqual(["Ada", "bob"]);
    expect(found({ borrowedOnly: true })).toEqual(["cid"]);
    expect(found({ product: "cad", borrowedOnly: true })).toEqual([]);
  });
});

describe("sorting", () => {
  const rows = [
    row("user-10", { registered_at: "2026-03-02T08:00:00.000Z" }),
    row("User-9", { registered_at: "2026-03-02T07:00:00.000Z", ip_local: "10.0.0.20" }),
    row("ada", { borrowed_until: "2026-05-01T00:00:00.000Z", ip_local: "10.0.0.3" }),
  ];
  const by = (column: Column, descending = false) =>
    usersOf(sortRows(rows, { column, descending }));

  test("names with numbers in them as people count, whatever their case", () => {
    expect(by("user")).toEqual(["ada", "User-9", "user-10"]);
    expect(by("user", true)).toEqual(["user-10", "User-9", "ada"]);
  });

  test("times and addresses by their value; a borrow counts to its own end", () => {
    expect(by("since")).toEqual(["User-9", "user-10", "ada"]);
    expect(by("until")).toEqual(["user-10", "User-9", "ada"]);
    expect(by("address")).toEqual(["user-10", "ada", "User-9"]);
  });

  test("equal ones stay in their order, both ways", () => {
    expect(by("product")).toEqual(["user-10", "User-9", "ada"]);
    expect(by("product", true)).toEqual(["user-10", "User-9", "ada"]);
  });

  test("a second click turns a column round, another column begins upwards", () => {
    const first = toggleOrder("user", { column: "since", descending: true });
    expect(first).toEqual({ column: "user", descending: false });
    expect(toggleOrder("user", first)).toEqual({ column: "user", descending: true });
  });
});

describe("CSV", () => {
  const lineOf = (differing: Partial<RegistrationReply>): string =>
    csvOf([row("ada", differing)])
      .split("\r\n")
      .slice(1)
      .join("\r\n");

  test("has a header, a line for each, and ends every line with CRLF", () => {
    expect(csvOf([])).toBe(
      "product,license_id,user,os_hostname,ip_local,peer,registered_at,expires_at,borrowed_until,features,user_info\r\n",
    );
    expect(lineOf({ features: ["mesh", "plot"] })).toBe(
      "cad,1,ada,,,10.0.0.1,2026-03-02T09:00:00.000Z,2026-03-02T09:30:00.000Z,,mesh plot,\r\n",
    );
  });

  test("quotes what would end a field", () => {
    expect(lineOf({ user_info: 'a "b", c' })).toEndWith(',"a ""b"", c"\r\n');
    expect(lineOf({ user_info: "two\nlines" })).toEndWith(',"two\nlines"\r\n');
  });

  test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])("%j is no formula in it", (user) => {
    const [, , shown] =
      csvOf([row(user)])
        .split("\r\n")[1]
        ?.split(",") ?? [];
    expect(shown?.replace(/^"/, "")[0]).toBe("'");
  });

  test("a spreadsheet that splits at semicolons, tabs or line ends finds no formula either", () => {
    for (const end of [";", "\t", "\n", "\r", ";;"]) {
      const text = csvOf([row("ada", { user_info: `a${end}=1+1${end}@x${end}b` })]);
      const cells = text.split(/[;\t\r\n]/);
      expect(cells.filter((cell) => /^["\s]*[=+\-@]/.test(cell))).toEqual([]);
    }
    expect(lineOf({ user_info: "a;=1+1" })).toEndWith(`,"a;'=1+1"\r\n`);
    expect(lineOf({ user_info: "left; right" })).toEndWith(`,"left; right"\r\n`);
  });

  test("what only holds such a character is left alone", () => {
    expect(lineOf({ os_hostname: "a=b-c" })).toContain(",a=b-c,");
  });
});

describe("the command for a terminal", () => {
  test.each([
    ["ada", "CAD", "berth release --user ada --product CAD"],
    ["Ada L", "CAD", "berth release --user 'Ada L' --product CAD"],
    ["o'neil", "CAD", String.raw`berth release --user 'o'\''neil' --product CAD`],
    ["$(reboot)", "a;b", "berth release --user '$(reboot)' --product 'a;b'"],
    ["--json", "CAD", "berth release --user=--json --product CAD"],
  ])("for %j", (user, product, command) => {
    expect(releaseCommand(user, product)).toBe(command);
  });
});

describe("the rows that can be seen", () => {
  test("are those in view and a few beyond, and never more than there are", () => {
    expect(visibleRowsOf(0, 10, 10_000)).toEqual({ first: 0, end: 16 });
    expect(visibleRowsOf(100, 10, 10_000)).toEqual({ first: 94, end: 116 });
    expect(visibleRowsOf(9_990, 10, 10_000)).toEqual({ first: 9_984, end: 10_000 });
    expect(visibleRowsOf(0, 10, 3)).toEqual({ first: 0, end: 3 });
    expect(visibleRowsOf(0, 10, 0)).toEqual({ first: 0, end: 0 });
  });

  test("of a list that became shorter than where it was scrolled to are its last", () => {
    expect(visibleRowsOf(8_000, 10, 20)).toEqual({ first: 14, end: 20 });
  });
});

test("a list is read again after two seconds, a long one after ten times as long as it took", () => {
  expect([pauseAfterRead(0), pauseAfterRead(200), pauseAfterRead(900)]).toEqual([
    2_000, 2_000, 9_000,
  ]);
});
