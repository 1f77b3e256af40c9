import type { AccessReply } from "../../../http/routes/access/access.ts";
import { Misuse } from "../../frame/options.ts";
import {
  unwrapReply,
  withAdminClient,
  type AdminClient,
  type ClientContext,
  type Site,
} from "../../client/admin-client.ts";
import { readPassword } from "../../files/secret-input.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import type { JsonOutcome } from "../../frame/outcome.ts";
import { formatList } from "../../frame/terminal.ts";

const token = defineCommand({
  name: "admin token",
  isCommon: true,
  summary: "create an admin token and print it once",
  options: {
    ...siteOptions,
    name: option.tokenName,
    role: option.tokenRole,
    days: option.tokenDays,
    revoke: option.revoke,
    json: option.json,
  },
  examples: [
    "berth admin token --name ops",
    "berth admin token --name backup-job --days 90",
    "berth admin token --name monitoring --role viewer",
    "berth admin token --name prometheus --role metrics",
    "berth admin token revoke ops",
  ],
  async run({ name, role, days, revoke: revokedName, ...site }, context) {
    if (revokedName !== null) return revokeToken(site, context, revokedName);
    const body = { name: name ?? "admin", role, days };
    const creating = { ...context, createIfEmpty: true };
    const reply = await withAdminClient(site, creating, ({ admin }) =>
      unwrapReply(admin.access.tokens.post(body)),
    );
    const { expires_at: end } = reply;
    return {
      json: reply,
      text: [
        `token ${reply.name}, role ${reply.role}, ${end === null ? "does not expire" : `until ${end}`}`,
        "send it in the header Authorization: Bearer TOKEN; it is not shown again:",
        reply.token,
      ],
    };
  },
});

const revoke = defineCommand({
  name: "admin token revoke",
  summary: "revoke a token immediately",
  options: { ...siteOptions, json: option.json },
  arguments: ["NAME"],
  examples: ["berth admin token revoke ops"],
  run: (site, context) => revokeToken(site, context, requireName(context.args[0])),
});

const password = defineCommand({
  name: "admin password",
  isCommon: true,
  summary: "set an administrator's password, typed or read from standard input",
  options: { ...siteOptions, name: option.userName, json: option.json },
  examples: ["berth admin password", "berth admin password --name ada < password.txt"],
  async run({ name: namedUser, ...site }, context) {
    const name = namedUser ?? "admin";
    const reply = await setPassword(site, context, name, "admin");
    return { json: reply, text: `${name} can log in at /auth as an administrator` };
  },
});

const addUser = defineCommand({
  name: "admin user add",
  summary: "add a user, or change a user's password or role",
  options: { ...siteOptions, role: option.role, json: option.json },
  arguments: ["NAME"],
  examples: ["berth admin user add ada < password.txt", "berth admin user add bob --role viewer"],
  async run({ role, ...site }, context) {
    const name = requireName(context.args[0]);
    const reply = await setPassword(site, context, name, role);
    return { json: reply, text: `${name} can log in at /auth (role: ${role})` };
  },
});

async function setPassword(site: Site, context: ClientContext, name: string, role: string) {
  const body = { name, role, password: await readPassword() };
  return withAdminClient(site, context, ({ admin }) => unwrapReply(admin.access.users.post(body)));
}

const removeUser = defineCommand({
  name: "admin user remove",
  summary: "remove a user and end the user's sessions immediately",
  options: { ...siteOptions, json: option.json },
  arguments: ["NAME"],
  run(site, context) {
    const name = requireName(context.args[0]);
    return withAdminClient(site, context, async ({ admin }) => {
      const { isToken, isUser } = await findCredentials(admin, name);
      if (isToken && !isUser) {
        throw new Failure(`${name} is a token, not a user`, `berth admin token revoke ${name}`);
      }
      const reply = await unwrapReply(admin.access.users.remove.post({ name }));
      return { json: reply, text: `user ${name} is removed` };
    });
  },
});

const revokeToken = (site: Site, context: ClientContext, name: string): Promise<JsonOutcome> =>
  withAdminClient(site, context, async ({ admin }) => {
    const { isToken, isUser } = await findCredentials(admin, name);
    if (isUser && !isToken) {
      throw new Failure(`${name} is a user, not a token`, `berth admin user remove ${name}`);
    }
    const reply = await unwrapReply(admin.access.tokens.revoke.post({ name }));
    return { json: reply, text: `token ${name} is revoked` };
  });

/** One list shows tokens and users, so a name of the other kind is refused with its own error. */
async function findCredentials(admin: AdminClient["admin"], name: string) {
  const { tokens, users } = await unwrapReply(admin.access.get());
  const isAmong = (list: readonly { readonly name: string }[]): boolean =>
    list.some((credential) => credential.name === name);
  return { isToken: isAmong(tokens), isUser: isAmong(users) };
}

const listUsers = defineCommand({
  name: "admin user list",
  summary: "list users and tokens, without secrets",
  options: { ...siteOptions, json: option.json },
  async run(site, context) {
    const reply = await readAccess(site, context);
    return { json: reply, text: formatCredentials(reply) };
  },
});

const readAccess = (site: Site, context: ClientContext): Promise<AccessReply> =>
  withAdminClient(site, context, ({ admin }) => unwrapReply(admin.access.get()));

function formatCredentials({ tokens, users }: AccessReply): string {
  const rows = [
    ...tokens.map(({ expires_at: end, ...token }) => ({
      ...token,
      kind: "token",
      since: token.created_at,
      expires: token.is_expired ? `${end}, expired` : (end ?? "never"),
    })),
    ...users.map((user) => ({
      ...user,
      kind: "user",
      since: user.password_set_at,
      expires: "never",
    })),
  ].map(({ kind, name, role, since, expires, last_used_at, last_used_from }) => ({
    kind,
    name,
    role,
    since,
    expires,
    "last used": last_used_at ?? "not used",
    from: last_used_from ?? "",
  }));
  return formatList(
    rows,
    "no credential yet: administration is open on this machine; berth admin token creates one",
  );
}

const listSessions = defineCommand({
  name: "admin session list",
  summary: "list the sessions of the operator's page",
  options: { ...siteOptions, json: option.json },
  async run(site, context) {
    const { sessions } = await readAccess(site, context);
    return { json: { sessions }, text: formatSessions(sessions) };
  },
});

function formatSessions(sessions: AccessReply["sessions"]): string {
  const rows = sessions.map(
    ({ id, name, role, created_at, expires_at, last_used_at, address }) => ({
      id,
      owner: name,
      role,
      since: created_at,
      expires: expires_at,
      "last used": last_used_at,
      from: address,
    }),
  );
  return formatList(rows, "no sessions");
}

const revokeSession = defineCommand({
  name: "admin session revoke",
  summary: "end a session of the operator's page immediately",
  options: { ...siteOptions, json: option.json },
  arguments: ["ID"],
  async run(site, context) {
    const id = context.args[0] ?? "";
    if (id === "") throw new Misuse("ID is required", "berth admin session list shows all ids");
    const reply = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(admin.sessions.revoke.post({ id })),
    );
    return { json: reply, text: `session ${id} is revoked` };
  },
});

function requireName(name: string | undefined): string {
  if (name === undefined || name === "")
    throw new Misuse("NAME is required", "berth admin user list shows all names");
  return name;
}

/** Tokens, users and sessions. */
export const accessCommands = [
  token,
  revoke,
  password,
  addUser,
  removeUser,
  listUsers,
  listSessions,
  revokeSession,
];
