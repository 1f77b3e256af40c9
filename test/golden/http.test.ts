// What users see of the API must not change by accident: the OpenAPI document and one successful
// reply of every route are compared with committed files.
import { expect, test } from "bun:test";
import { isDeepStrictEqual } from "node:util";
import { expectOk, openAppliance } from "../support/appliance.ts";
import { listOperations, type JsonObject } from "../support/openapi-rules.ts";
import { findMismatches } from "../support/openapi-values.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { describeReply } from "./describe-reply.ts";
import { formatValue, shareParts } from "./format-value.ts";
import { expectGolden, type Sections } from "./golden-file.ts";
import { collectReplies, type Reply } from "./replies.ts";

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

let replies: Promise<readonly Reply[]> | null = null;

const readReplies = (): Promise<readonly Reply[]> => (replies ??= collectReplies());

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
  const replies = await readReplies();
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

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
}

type Contents = Readonly<Record<string, { readonly schema: Schema }>>;

interface Operation {
  readonly responses: { readonly 200: { readonly content?: Contents } };
}

test("a successful reply of every route is as the OpenAPI document describes it", async () => {
  const document = await readOpenApi();
  const operations = new Map(listOperations(document));
  const differences = (await readReplies()).flatMap((reply) => {
    const { responses } = operations.get(reply.route) as unknown as Operation;
    return compareWithDocument(document, responses[200].content ?? {}, reply).map(
      (difference) => `${reply.title}${difference}`,
    );
  });
  expect(differences).toEqual([]);
});

function compareWithDocument(
  document: JsonObject,
  contents: Contents,
  { response, body }: Reply,
): string[] {
  // The server adds the type of a plain text.
  const [type = ""] = (response.headers.get("content-type") ?? "text/plain").split(";");
  if (Object.keys(contents).length === 0) return body === "" ? [] : [": its body is not described"];
  const schema = contents[type]?.schema;
  if (schema === undefined) return [`: ${type} is not described`];
  if (typeof body !== "string") return findMismatches(document, schema, body);
  if (type === "application/x-ndjson" && schema.type !== "string") {
    const [line = ""] = body.split("\n");
    return findMismatches(document, schema, JSON.parse(line));
  }
  const isDescribed = schema.enum === undefined || isDeepStrictEqual(schema.enum, [body]);
  return isDescribed ? [] : [`: ${body} is not in its enum`];
}
