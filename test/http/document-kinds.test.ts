// A refusal of a document of the wrong kind names that kind and the command that accepts it.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  describeDocumentKind,
  DOCUMENT_KINDS,
  type DocumentKind,
} from "../../src/license/documents/document-kinds.ts";
import { expectRefusedUnchanged, openSharedAppliance } from "../support/appliance.ts";
import { repositoryRoot } from "../support/sources.ts";

const readDocument = (kind: DocumentKind): string =>
  readFileSync(
    join(repositoryRoot, "test", "vectors", "documents", `good-${kind}.jwt`),
    "utf8",
  ).trim();

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Every route that accepts a signed document, with the kind it accepts. */
const ROUTES: readonly [string, DocumentKind, (document: string) => object][] = [
  ["/api/v4/license/upload", "license", (license) => ({ license })],
  ["/api/admin/v1/trust/show", "trust", (license) => ({ license })],
  ["/api/admin/v1/trust/add", "trust", (license) => ({ license })],
  ["/api/admin/v1/clock/repair", "time", (license) => ({ license })],
  [
    "/api/v4/airgap/license",
    "policy",
    (policy) => ({ license_policy: policy, license_key: "K", confirmation_code: "C" }),
  ],
  [
    "/api/v4/airgap/license",
    "policy",
    (policy) => ({ license_policy: base64(policy), license_key: "K", confirmation_code: "C" }),
  ],
];

const sharedSite = openSharedAppliance();

describe.each(ROUTES)("POST %s", (route, acceptedKind, makeBody) => {
  const refusalOf = async (document: string): Promise<string> => {
    const site = sharedSite();
    return expectRefusedUnchanged(site, 400, "invalid_license_file", () =>
      site.post(route, { ...makeBody(document) }),
    );
  };

  test.each(DOCUMENT_KINDS.filter((kind) => kind !== acceptedKind))(
    "refuses a document of kind %s and names its kind",
    async (kind) => {
      expect(await refusalOf(readDocument(kind))).toBe(`the file is ${describeDocumentKind(kind)}`);
    },
  );

  test("refuses a text that is not a signed document without naming a kind", async () => {
    expect(await refusalOf("no document")).toBe("the file is not a signed document");
  });
});
