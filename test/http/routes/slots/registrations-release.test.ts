import { describe, expect, test } from "bun:test";
import type { ReleaseUsersReply } from "../../../../src/http/routes/slots/registrations-release.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";

const ONE = "/api/admin/v1/registrations/release";
const USERS = "/api/admin/v1/registrations/release/users";
const ALL = "/api/admin/v1/registrations/release/all";
const TERMS = { slots: 600, timeoutMinutes: 30, borrowHours: 24 };

/** The early return of a borrowed slot is allowed for `cam` only. */
const openTwoProducts = (): Promise<Appliance> =>
  openAppliance({
    licenses: {
      1: { ...TERMS, earlyReturn: false },
      2: { ...TERMS, product: "cam", earlyReturn: true },
    },
  });

const releaseUsers = async (site: Appliance, fields: object): Promise<ReleaseUsersReply> =>
  expectOk(await site.post<ReleaseUsersReply>(USERS, { ...fields }));

describe("registrations/release", () => {
  test("releases one user's slot", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    expectOk(await site.borrow({ user: "bob" }));
    expect(expectOk(await site.post(ONE, { product: "cad", user: "bob" }))).toEqual({
      released: 1,
    });
    expect(await site.listHolders()).toEqual(["ada"]);
  });

  test("accepts null for an omitted product", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    expectOk(await site.post(ONE, { product: null, user: "ada" }));
    expect(await site.listHolders()).toEqual([]);
  });

  test.each<[string, Record<string, unknown>]>([
    ["missing_parameters", {}],
    ["user_not_registered", { user: "bob" }],
    ["unknown_product", { user: "ada", product: "cam" }],
    ["license_not_found", { user: "ada", license_id: "9" }],
    ["invalid_type", { user: 7 }],
  ])("is refused with %s for %j", async (code, fields) => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    await expectRefusedUnchanged(site, 400, code, () => site.post(ONE, fields));
    expect(await site.listHolders()).toEqual(["ada"]);
  });
});

describe("registrations/release/users", () => {
  test("releases the slots of the users, and replies with one result each", async () => {
    const site = await openTwoProducts();
    for (const user of ["ada", "bob", "cid"])
      expectOk(await site.register({ user, product: "cad" }));
    expectOk(await site.borrow({ user: "dan", product: "cad" }));
    const reply = await releaseUsers(site, { product: "cad", users: "cid\nnobody\ndan\nada" });
    expect(reply.released).toBe(2);
    expect(reply.results.map(({ user, released, code }) => [user, released, code])).toEqual([
      ["cid", 1, null],
      ["nobody", 0, "user_not_registered"],
      ["dan", 0, "early_return_not_allowed"],
      ["ada", 1, null],
    ]);
    expect(reply.results.map(({ message }) => typeof message)).toEqual([
      "object",
      "string",
      "string",
      "object",
    ]);
    expect(await site.listHolders()).toEqual(["bob", "dan"]);
  });

  test("releases a user named twice once, and ignores empty lines", async () => {
    const site = await openTwoProducts();
    expectOk(await site.register({ user: "ada", product: "cad" }));
    const reply = await releaseUsers(site, { product: "cad", users: "\nada\n\nada\n" });
    expect(reply.results.map(({ user }) => user)).toEqual(["ada"]);
  });

  test("releases the slots of one license only", async () => {
    const site = await openTwoProducts();
    for (const product of ["cad", "cam"]) expectOk(await site.register({ user: "ada", product }));
    expect(
      (await releaseUsers(site, { product: "cam", license_id: 2, users: "ada" })).released,
    ).toBe(1);
    const [row] = expectOk(await site.registrations());
    expect(row?.product).toBe("cad");
  });

  test("writes who released each slot to the audit log", async () => {
    const site = await openTwoProducts();
    const made = expectOk(
      await site.post<{ token: string }>("/api/admin/v1/access/tokens", {
        name: "ops",
        role: "admin",
      }),
    );
    for (const user of ["ada", "bob"]) expectOk(await site.register({ user, product: "cad" }));
    const headers = { authorization: `Bearer ${made.token}` };
    expectOk(await site.post(USERS, { product: "cad", users: "ada\nbob" }, headers));
    const log = expectOk(
      await site.get<{ events: { user: string; peer: string }[] }>(
        "/api/admin/v1/audit?type=SlotReleased",
        headers,
      ),
    );
    expect(log.events.map(({ user, peer }) => [user, peer])).toEqual([
      ["bob", "ops@127.0.0.1"],
      ["ada", "ops@127.0.0.1"],
    ]);
  });

  test("releases 500 users, and refuses 501 without a change", async () => {
    const site = await openTwoProducts();
    const users = Array.from({ length: 501 }, (_, index) => `user ${index}`);
    for (const user of users) expectOk(await site.register({ user, product: "cad" }));
    const message = await expectRefusedUnchanged(site, 400, "invalid_parameter", () =>
      site.post(USERS, { product: "cad", users: users.join("\n") }),
    );
    expect(message).toContain("at most 500 users");
    const some = users.slice(1).join("\n");
    expect((await releaseUsers(site, { product: "cad", users: some })).released).toBe(500);
    expect(await site.listHolders()).toEqual(["user 0"]);
  });

  test.each<[string, object, string]>([
    ["no users", {}, "missing_parameters"],
    ["only empty lines", { users: "\n\n" }, "missing_parameters"],
    ["a list", { users: ["ada"] }, "invalid_type"],
    ["an invisible character in a name", { users: "ada\nb\u0007b" }, "invalid_characters"],
    ["a wrong license id", { users: "ada", license_id: "x" }, "invalid_number"],
  ])("refuses %s and releases nothing", async (_what, fields, code) => {
    const site = await openTwoProducts();
    expectOk(await site.register({ user: "ada", product: "cad" }));
    await expectRefusedUnchanged(site, 400, code, () =>
      site.post(USERS, { product: "cad", ...fields }),
    );
    expect(await site.listHolders()).toEqual(["ada"]);
  });
});

describe("registrations/release/all", () => {
  test("releases all slots of the product and says how many stay in use", async () => {
    const site = await openTwoProducts();
    for (const product of ["cad", "cam"]) {
      expectOk(await site.register({ user: "ada", product }));
      expectOk(await site.borrow({ user: "bob", product }));
    }
    const releaseAll = async (product: string) => expectOk(await site.post(ALL, { product }));
    expect(await releaseAll("cad")).toEqual({ released: 1, remaining: 1 });
    expect(await releaseAll("cam")).toEqual({ released: 2, remaining: 0 });
    expect(await site.listHolders()).toEqual(["bob"]);
  });

  test.each([
    [{}, "missing_parameters"],
    [{ product: "" }, "missing_parameters"],
    [{ product: "other" }, "unknown_product"],
  ])("refuses %j and releases nothing", async (fields, code) => {
    const site = await openTwoProducts();
    expectOk(await site.register({ user: "ada", product: "cad" }));
    await expectRefusedUnchanged(site, 400, code, () => site.post(ALL, fields));
    expect(await site.listHolders()).toEqual(["ada"]);
  });
});
