import { expect, test } from "bun:test";
import { Credentials } from "../../../src/operations/access/credentials.ts";

const OWNER = { name: "ops", role: "admin", credentialType: "token" } as const;
const ACTOR = { ...OWNER, sessionId: null, useKey: "token ops" };

test("a session that ends because its owner has too many leaves no last use behind", () => {
  const token = { name: "ops", sha256: "0".repeat(64), madeAt: 0, endsAt: null };
  const credentials = new Credentials({ access: 2, tokens: [token], users: [], sessions: [] });
  const keys = Array.from({ length: 21 }, (_, index) => {
    const key = credentials.addSession(ACTOR, index, "10.0.0.1")?.session.actor.useKey ?? "";
    credentials.lastUses.note(key, { at: index, address: "10.0.0.1" });
    return key;
  });
  const known = keys.filter((key) => credentials.lastUses.get(key) !== null);
  expect(known).toEqual(keys.slice(1));
});
