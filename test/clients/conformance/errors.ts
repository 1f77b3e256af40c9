// Scenarios: the kind of an error follows from status and code of the reply.
import { expect } from "bun:test";
import { ClientError } from "./driver.ts";
import type { ErrorKind } from "./protocol.ts";
import type { Scenario } from "./world.ts";

type ErrorCase = readonly [status: number, code: string, kind: ErrorKind];

const REFUSALS: readonly ErrorCase[] = [
  [400, "floating_not_available", "NoFreeSlot"],
  [400, "slots_capped", "NoFreeSlot"],
  [400, "not_allowed_by_rules", "Refused"],
  [400, "unknown_product", "Refused"],
  [400, "license_expired", "Refused"],
  [400, "a_code_of_a_later_version", "Refused"],
  [401, "unauthorized", "AccessDenied"],
  [403, "forbidden", "AccessDenied"],
  [403, "tls_required", "AccessDenied"],
  [404, "not_found", "Refused"],
  [409, "moved_away", "Refused"],
  [413, "too_large", "Refused"],
  [415, "unsupported_media_type", "Refused"],
  [418, "teapot", "Refused"],
];

const FAILURES: readonly ErrorCase[] = [
  [408, "request_cancelled", "Unavailable"],
  [429, "too_many_requests", "Unavailable"],
  [429, "audit_budget_exhausted", "Unavailable"],
  [500, "internal_error", "Unavailable"],
  [503, "storage_full", "Unavailable"],
  [503, "storage_failed", "Unavailable"],
  [503, "standby", "Unavailable"],
  [503, "log_unavailable", "Unavailable"],
];

const replyWith = ([status, code]: ErrorCase) => ({
  status,
  headers: { "x-request-id": "8d0e3d1c-60" },
  body: { status, code, message: `the server says ${code}` },
});

export const errorScenarios: readonly Scenario[] = [
  {
    title: "a refusal is an error of the kind of its status and code, and is not repeated",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      for (const each of REFUSALS) {
        const [status, code, kind] = each;
        const before = proxy.requests.length;
        for (const operation of ["register", "borrow", "add_consumption"]) {
          proxy.answer(operation, replyWith(each), 1);
        }
        const errors = [
          await client.acquireError("ada"),
          await client.borrowError("ada"),
          await client.consumeError(),
        ];
        for (const error of errors) {
          expect(error).toMatchObject({ kind, code, status, request_id: "8d0e3d1c-60" });
          expect(error.message).toContain(`the server says ${code}`);
          expect(error.message).toContain(proxy.url);
        }
        expect(proxy.requests.length - before).toBe(errors.length);
      }
    },
  },
  {
    title: "a failure of the server is repeated, and then is Unavailable with its code",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connectForOneRound(proxy.url);
      for (const each of FAILURES) {
        const [, code, kind] = each;
        proxy.heal();
        proxy.answer("register", replyWith(each));
        expect(await client.acquireError("ada")).toMatchObject({ kind, code });
      }
      proxy.heal();
      const patient = await world.connect(proxy.url, {}, client.driver);
      for (const each of FAILURES.slice(0, 4)) proxy.answer("register", replyWith(each), 1);
      expect(await (await patient.acquire("ada")).isHeld()).toBe(true);
    },
  },
  {
    title: "a message that is no text ends no program",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connectForOneRound(proxy.url);
      const nested = `${"[".repeat(40_000)}${"]".repeat(40_000)}`;
      for (const message of [nested, "{}", "7", "null"]) {
        const body = `{"status":400,"code":"not_today","message":${message}}`;
        proxy.answer("register", { status: 400, body }, 1);
        // A reply that is nested too deeply need not be believed.
        const error = await client.acquireError("ada");
        expect(["Refused", "Unavailable"]).toContain(error.kind);
        expect(error.message).not.toMatch(/stack|recursion/i);
      }
      expect(client.driver.stderr).toBe("");
    },
  },
  {
    title: "has the place in the queue, or none",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const refusal = replyWith([400, "floating_not_available", "NoFreeSlot"]);
      proxy.answer("register", refusal, 1);
      const without = await client.acquireError("ada");
      expect(without.position === null || without.position === -1).toBe(true);
      const queue = { position: 3, length: 7, eta: null, expires_at: "2026-11-17T13:30:30.000Z" };
      proxy.answer("register", { ...refusal, body: { ...refusal.body, queue } }, 1);
      expect((await client.acquireError("ada")).position).toBe(3);
    },
  },
  {
    title: "a message of any characters and length is shown without a crash",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const long = '日本語 %s %n " \\ \u0000 \u{1f600} '.repeat(2_000);
      for (const code of ["x".repeat(5_000), "%s%s%n", "two words"]) {
        const body = { status: 400, code, message: long };
        proxy.answer("register", { status: 400, body }, 1);
        // A code that no version of Berth has need not be believed: then the call is repeated.
        const fields = { client: client.name, slot: "slot", user: "ada" };
        const reply = await client.driver
          .request("acquire", fields)
          .catch((error: unknown) => error);
        if (reply instanceof ClientError) expect(reply.reply.kind).toBe("Refused");
        else expect(reply).toMatchObject({ user: "ada" });
        await client.releaseUser("ada");
      }
      expect(client.driver.stderr).toBe("");
    },
  },
];
