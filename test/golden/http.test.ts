// What users see of the API must not change by accident: the OpenAPI document and one successful
// reply of every route are compared with committed files.
import { expect, test } from "bun:test";
import { expectOk, openAppliance } from "../support/appliance.ts";
import { listOperations, type JsonObject } from "../support/openapi-rules.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { describeReply } from "./describe-reply.ts";
import { formatValue, shareParts } from "./format-value.ts";
import { expectGolden, type Sections } from "./golden-file.ts";
import { collectReplies } from "./replies.ts";

tellNoSlowSyncs();

/** Routes without a reply in the files, with the reason. */
const NOT_COVERED: Readonly<Record<string, string>> = {
  "POST /api/admin/v1/pair/hand-over": "another host has to take over while the request waits",
};

async function readOpenApi(): Promise<JsonObject> {
  const site = await openAppliance();
  const document = expectOk(await site.get<JsonObject>("/api/v4/openapi.json"));
  return { ...document, info: { ...(document["info"] as object), version: "<version>" } };
}

const formatMembers = (members: object, prefix = ""): Sections =>
  Object.fromEntries(
    Object.entries(members).map(([name, member]) => [`${prefix}${name}`, formatValue(member)]),
  );

test("the OpenAPI document is the committed one", async () => {
  const { value, parts } = shareParts(await readOpenApi());
  const { paths = {}, components = {}, ...rest } = value as Record<string, object>;
  const sections = [
    formatMembers(rest),
    formatMembers(paths),
    ...Object.entries(components).map(([kind, members]) => formatMembers(members, `${kind}/`)),
    formatMembers(parts),
  ];
  expectGolden("openapi.txt", Object.assign({}, ...sections) as Sections);
});

test("a successful reply of every route is the committed one", async () => {
  const replies = await collectReplies();
  const documented = [...listOperations(await readOpenApi())].map(([route]) => route);
  expect(new Set(replies.map(({ title }) => title)).size).toBe(replies.length);
  const covered = [...new Set(replies.map(({ route }) => route)), ...Object.keys(NOT_COVERED)];
  expect(covered.toSorted()).toEqual(documented.toSorted());

  const sections = replies.map((reply) => [reply.title, describeReply(reply)] as const);
  const ofAdministration = (title: string): boolean => title.includes(" /api/admin/");
  const choose = (isAdministration: boolean): Sections =>
    Object.fromEntries(sections.filter(([title]) => ofAdministration(title) === isAdministration));
  expectGolden("replies-client.txt", choose(false));
  expectGolden("replies-admin.txt", choose(true));
});
