import type { AccessReply, TokenReply } from "../../http/routes/access.ts";
import { Misuse } from "../../platform/options.ts";
import {
  EXIT_OK,
  Failure,
  isFlagSet,
  getAdminTarget,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { readPassword } from "../files/secret-input.ts";
import { print, printJson, formatTable } from "../frame/terminal.ts";

const PATH = "/api/admin/v1/access";
const site = [option.data, option.identity, option.config] as const;

const token: Command = {
  name: "admin token",
  isCommon: true,
  summary: "create an admin token and print it once",
  options: [...site, option.tokenName, option.tokenDays, option.revoke, option.json],
  examples: [
    "berth admin token --name ops",
    "berth admin token --name backup-job --days 90",
    "berth admin token revoke ops",
  ],
  run(flags) {
    const revokedName = getStringFlag(flags, "revoke");
    if (revokedName !== null) return revokeToken(flags, revokedName);
    const days = getStringFlag(flags, "days");
    const body = {
      name: getStringFlag(flags, "name") ?? "admin",
      ...(days !== null && days !== "never" && { days }),
    };
    return withAdminClient({ ...getAdminTarget(flags), createIfEmpty: true }, async (call) => {
      const reply = (await call("POST", `${PATH}/tokens`, body)) as TokenReply;
      if (isFlagSet(flags, "json")) {
        printJson(reply);
        return EXIT_OK;
      }
      print(`token ${reply.name}${reply.expires_at === null ? "" : `, until ${reply.expires_at}`}`);
      print("send it in the header Authorization: Bearer TOKEN; it is not shown again:");
      print(reply.token);
      return EXIT_OK;
    });
  },
};

const revoke: Command = {
  name: "admin token revoke",
  summary: "revoke a token immediately",
  options: [...site, option.json],
  arguments: ["NAME"],
  examples: ["berth admin token revoke ops"],
  run: (flags) => revokeToken(flags, getNameArgument(flags)),
};

const password: Command = {
  name: "admin password",
  isCommon: true,
  summary: "set an administrator's password, typed or read from standard input",
  options: [...site, option.userName, option.json],
  examples: ["berth admin password", "berth admin password --name ada < password.txt"],
  async run(flags) {
    const name = getStringFlag(flags, "name") ?? "admin";
    const body = { name, role: "admin", password: await readPassword() };
    return postChange(
      flags,
      `${PATH}/users`,
      body,
      `${name} can log in at /auth as an administrator`,
    );
  },
};

const addUser: Command = {
  name: "admin user add",
  summary: "add a user, or change a user's password or role",
  options: [...site, option.role, option.json],
  arguments: ["NAME"],
  examples: ["berth admin user add ada < password.txt", "berth admin user add bob --role admin"],
  async run(flags) {
    const name = getNameArgument(flags);
    const role = getStringFlag(flags, "role") ?? "user";
    const body = { name, role, password: await readPassword() };
    return postChange(flags, `${PATH}/users`, body, `${name} can log in at /auth (role: ${role})`);
  },
};

const removeUser: Command = {
  name: "admin user remove",
  summary: "remove a user and end the user's sessions immediately",
  options: [...site, option.json],
  arguments: ["NAME"],
  run(flags) {
    const name = getNameArgument(flags);
    return removeCredential(flags, "user", name, `${PATH}/users/remove`, `user ${name} is removed`);
  },
};

const listUsers: Command = {
  name: "admin user list",
  summary: "list users and tokens, without secrets",
  options: [...site, option.json],
  run: (flags) =>
    withAdminClient(getAdminTarget(flags), async (call) => {
      const reply = (await call("GET", PATH)) as AccessReply;
      if (isFlagSet(flags, "json")) printJson(reply);
      else print(formatCredentials(reply));
      return EXIT_OK;
    }),
};

function formatCredentials({ tokens, users }: AccessReply): string {
  const rows = [
    ...tokens.map(({ name, created_at, expires_at, is_expired }) => [
      "token",
      name,
      "admin",
      created_at,
      is_expired ? `${expires_at}, expired` : (expires_at ?? "never"),
    ]),
    ...users.map(({ name, role, password_set_at }) => [
      "user",
      name,
      role,
      password_set_at,
      "never",
    ]),
  ];
  if (rows.length === 0) {
    return "no credential yet: administration is open on this machine; berth admin token creates one";
  }
  return formatTable([["KIND", "NAME", "ROLE", "SINCE", "EXPIRES"], ...rows]);
}

const revokeToken = (flags: FlagValues, name: string): Promise<number> =>
  removeCredential(flags, "token", name, `${PATH}/tokens/revoke`, `token ${name} is revoked`);

/** One list shows tokens and users, so a name of the other kind is refused with its own error. */
const removeCredential = (
  flags: FlagValues,
  kind: "token" | "user",
  name: string,
  path: string,
  message: string,
): Promise<number> =>
  withAdminClient(getAdminTarget(flags), async (call) => {
    const { tokens, users } = (await call("GET", PATH)) as AccessReply;
    const isAmong = (list: readonly { readonly name: string }[]): boolean =>
      list.some((credential) => credential.name === name);
    if (kind === "user" && !isAmong(users) && isAmong(tokens)) {
      throw new Failure(`${name} is a token, not a user`, `berth admin token revoke ${name}`);
    }
    if (kind === "token" && !isAmong(tokens) && isAmong(users)) {
      throw new Failure(`${name} is a user, not a token`, `berth admin user remove ${name}`);
    }
    return printReply(flags, await call("POST", path, { name }), message);
  });

const postChange = (
  flags: FlagValues,
  path: string,
  body: object,
  message: string,
): Promise<number> =>
  withAdminClient(getAdminTarget(flags), async (call) =>
    printReply(flags, await call("POST", path, body), message),
  );

function printReply(flags: FlagValues, reply: unknown, message: string): number {
  if (isFlagSet(flags, "json")) printJson(reply);
  else print(message);
  return EXIT_OK;
}

function getNameArgument({ positionals: [name] }: FlagValues): string {
  if (name === undefined || name === "")
    throw new Misuse("NAME is required", "berth admin user list shows all names");
  return name;
}

/** Tokens and users. */
export const accessCommands: readonly Command[] = [
  token,
  revoke,
  password,
  addUser,
  removeUser,
  listUsers,
];
