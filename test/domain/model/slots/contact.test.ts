import { describe, expect, test } from "bun:test";
import {
  completeContact,
  CONTACT_FIELDS,
  fingerprintPartsOf,
  isSameContact,
  isSameMachine,
  sentFieldsOf,
  type Contact,
} from "../../../../src/domain/model/slots/contact.ts";
import { CONTACT } from "../../../support/scenario.ts";
import { makeContact } from "../../../support/contact.ts";

const NAMES = Object.keys(CONTACT_FIELDS) as (keyof Contact)[];

describe.each(NAMES)("%s of a contact", (name) => {
  const { apiName, isOfMachine, isInFingerprint } = CONTACT_FIELDS[name];
  const other: Contact = { ...CONTACT, [name]: "another value" };

  test("makes another contact, and another machine if it is of the machine", () => {
    expect(isSameContact(CONTACT, { ...CONTACT })).toBe(true);
    expect(isSameContact(CONTACT, other)).toBe(false);
    expect(isSameMachine(CONTACT, other)).toBe(!isOfMachine);
  });

  test("is part of the fingerprint of a request as its row says", () => {
    expect(fingerprintPartsOf(other).includes("another value")).toBe(isInFingerprint);
  });

  test("is recorded under its API name, except for the address of the connection", () => {
    const sent = sentFieldsOf(other);
    expect(sent[apiName]).toBe(name === "peer" ? undefined : "another value");
  });
});

test("fingerprintPartsOf has the values and the order of stored keys", () => {
  const contact = makeContact({ hostname: "h", ip: "i", peer: "p" });
  expect(fingerprintPartsOf(contact)).toEqual(["h", "i", ""]);
});

test("sentFieldsOf leaves out what was not recorded", () => {
  expect(sentFieldsOf({ hostname: "h", ip: "i" })).toEqual({ os_hostname: "h", ip_local: "i" });
});

test("completeContact leaves empty what is not known", () => {
  const empty = Object.fromEntries(NAMES.map((name) => [name, ""]));
  expect<object>(completeContact({ hostname: "h" })).toEqual({ ...empty, hostname: "h" });
  expect(completeContact(CONTACT)).toEqual(CONTACT);
});
