import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SentContactName } from "../../src/domain/model/slots/contact.ts";
import { repositoryRoot } from "../support/sources.ts";

/** Which fields about its caller each client sends: a field without an answer does not compile. */
const SENT_BY: Readonly<Record<string, Readonly<Record<SentContactName, boolean>>>> = {
  "berth.py": { os_hostname: true, ip_local: false, user_info: true },
  "berth.js": { os_hostname: true, ip_local: false, user_info: true },
  "berth.h": { os_hostname: true, ip_local: false, user_info: true },
};

test.each(Object.entries(SENT_BY))(
  "%s sends exactly the fields about its caller that it is known to send",
  (client, sent) => {
    const source = readFileSync(join(repositoryRoot, "src/clients", client), "utf8");
    const found = Object.keys(sent).map((name) => [name, new RegExp(`\\b${name}\\b`).test(source)]);
    expect(Object.fromEntries(found)).toEqual(sent);
  },
);
