import type { AccessReply, TokenReply } from "../../http/routes/access.ts";
import { Misuse } from "../../platform/options.ts";
import { DONE, Failure, isSet, place, stringOf, type Command, type Given } from "../command.ts";
import { option } from "../flags.ts";
import { reach } from "../reach.ts";
import { readPassword } from "../secret-input.ts";
import { print, printJson, table } from "../terminal.ts";

const PATH = "/api/admin/v1/access";
const site = [option.data, option.identity, option.config] as const;

const token: Command = {
  name: "admin token",
  everyday: true,
  summary: "create an admin token and print it once",
  options: [...site, option.tokenName, option.tokenDays, option.revoke, option.json],
  examples: [
    "berth admin token --name ops",
    "berth admin token --name backup-job --days 90",
    "berth admin token revoke ops",
  ],
  run(given) {
    const revoked = stringOf(given, "revoke");
    if (revoked !== null) return revokeToken(given, revoked);
    const days = stringOf(given, "days");
    const body = {
      name: stringOf(given, "name") ?? "admin",
      ...(days !== null && days !== "never" && { days }),
    };
    return reach({ ...place(given), begin: true }, async (call) => {
      const made = (await call("POST", `${PATH}/tokens`, body)) as TokenReply;
      if (isSet(given, "json")) {
        printJson(made);
        return DONE;
      }
      print(`token ${made.name}${made.expires_at === null ? "" : `, until ${made.expires_at}`}`);
      print("send it in the header Authorization: Bearer TOKEN; it is not shown again:");
      print(made.token);
      return DONE;
    });
  },
};

const revoke: Command = {
  name: "admin token revoke",
  summary: "revoke a token immediately",
  options: [...site, option.json],
  arguments: ["NAME"],
  examples: ["berth admin token revoke ops"],
  run: (given) => revokeToken(given, named(given)),
};

const password: Command = {
  name: "admin password",
  everyday: true,
  summary: "set an administrator's password, typed or read from standard input",
  options: [...site, option.userName, option.json],
  examples: ["berth admin password", "berth admin password --name ada < password.txt"],
  async run(given) {
    const name = stringOf(given, "name") ?? "admin";
    const body = { name, role: "admin", password: await readPassword() };
    return changed(given, `${PATH}/users`, body, `${name} can log in at /auth as an administrator`);
  },
};

const addUser: Command = {
  name: "admin user add",
  summary: "add a user, or change a user's password or role",
  options: [...site, option.role, option.json],
  arguments: ["NAME"],
  examples: ["berth admin user add ada < password.txt", "berth admin user add bob --role admin"],
  async run(given) {
    const name = named(given);
    const role = stringOf(given, "role") ?? "user";
    const body = { name, role, password: await readPassword() };
    return changed(given, `${PATH}/users`, body, `${name} can log in at /auth (role: ${role})`);
  },
};

const removeUser: Command = {
  name: "admin user remove",
  summary: "remove a user and end its sessions immediately",
  options: [...site, option.json],
  arguments: ["NAME"],
  run(given) {
    const name = named(given);
    return remove(given, "user", name, `${PATH}/users/remove`, `user ${name} is removed`);
  },
};

const listUsers: Command = {
  name: "admin user list",
  summary: "list users and tokens, without secrets",
  options: [...site, option.json],
  run: (given) =>
    reach(place(given), async (call) => {
      const reply = (await call("GET", PATH)) as AccessReply;
      if (isSet(given, "json")) printJson(reply);
      else print(text(reply));
      return DONE;
    }),
};

function text({ tokens, users }: AccessReply): string {
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
  return table([["KIND", "NAME", "ROLE", "SINCE", "ENDS"], ...rows]);
}

const revokeToken = (given: Given, name: string): Promise<number> =>
  remove(given, "token", name, `${PATH}/tokens/revoke`, `token ${name} is revoked`);

/** Of the two kinds that one list shows; a name that is of the other kind is not looked for. */
const remove = (
  given: Given,
  kind: "token" | "user",
  name: string,
  path: string,
  said: string,
): Promise<number> =>
  reach(place(given), async (call) => {
    const { tokens, users } = (await call("GET", PATH)) as AccessReply;
    const isAmong = (list: readonly { readonly name: string }[]): boolean =>
      list.some((one) => one.name === name);
    if (kind === "user" && !isAmong(users) && isAmong(tokens)) {
      throw new Failure(`${name} is a token, not a user`, `berth admin token revoke ${name}`);
    }
    if (kind === "token" && !isAmong(tokens) && isAmong(users)) {
      throw new Failure(`${name} is a user, not a token`, `berth admin user remove ${name}`);
    }
    return answered(given, await call("POST", path, { name }), said);
  });

const changed = (given: Given, path: string, body: object, said: string): Promise<number> =>
  reach(place(given), async (call) => answered(given, await call("POST", path, body), said));

function answered(given: Given, reply: unknown, said: string): number {
  if (isSet(given, "json")) printJson(reply);
  else print(said);
  return DONE;
}

function named({ words: [name] }: Given): string {
  if (name === undefined || name === "")
    throw new Misuse("NAME is required", "berth admin user list shows all names");
  return name;
}

/** Who may get in. */
export const accessCommands: readonly Command[] = [
  token,
  revoke,
  password,
  addUser,
  removeUser,
  listUsers,
];
