import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { prepareFile, replaceFile, type PreparedFile } from "../../platform/files/files.ts";
import { FolderRefused } from "../folder/refusal.ts";

/** Not part of a backup: logins and tokens belong to the machine, not to its licenses. */
const ACCESS_FILE = "access.json";

const Time = Type.Integer({ minimum: 0 });

const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$" });
const LastUse = Type.Optional(Type.Object({ at: Time, address: Type.String() }));

/** A random token, stored as SHA-256: nothing in this file is a usable credential. */
const Token = Type.Object({
  name: Type.String(),
  sha256: Sha256,
  /** Absent: an administrator. */
  role: Type.Optional(Type.Union([Type.Literal("viewer"), Type.Literal("metrics")])),
  madeAt: Time,
  endsAt: Type.Union([Time, Type.Null()]),
  /** Set once the token has expired: it stays expired when the clock is set back. */
  ended: Type.Optional(Type.Literal(true)),
  lastUse: LastUse,
});

/** A login, with the argon2id hash of its password. */
const User = Type.Object({
  name: Type.String(),
  role: Type.Union([Type.Literal("admin"), Type.Literal("viewer"), Type.Literal("user")]),
  argon2id: Type.String({ pattern: "^\\$argon2id\\$" }),
  setAt: Time,
  lastUse: LastUse,
});

const AccessList = Type.Object({
  access: Type.Literal(2),
  tokens: Type.Array(Token),
  users: Type.Array(User),
  /** Sessions of the operator's page, stored as SHA-256 too. */
  sessions: Type.Array(
    Type.Object({
      id: Type.String({ pattern: "^[0-9a-f]{32}$" }),
      sha256: Sha256,
      /** The kind and the name of the credential that started it, and ends it. */
      credential: Type.Union([Type.Literal("token"), Type.Literal("user")]),
      name: Type.String(),
      madeAt: Time,
      endsAt: Time,
      /** Where it was started from. */
      address: Type.String(),
      lastUse: LastUse,
    }),
  ),
});

export type AccessList = Static<typeof AccessList>;

const EMPTY_LIST: AccessList = { access: 2, tokens: [], users: [], sessions: [] };

/** The logins and tokens, in their own file, which is replaced as a whole. */
export class AccessFile {
  readonly #disk: Disk;
  readonly #path: string;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#path = join(folder, ACCESS_FILE);
  }

  /**
   * Throws if the list cannot be read: it must not count as empty, because then everyone would have
   * access.
   */
  read(): AccessList {
    const bytes = this.#disk.read(this.#path);
    if (bytes === null) return EMPTY_LIST;
    const list = parseAccessList(bytes);
    if (list !== null) return list;
    throw new FolderRefused(
      `${this.#path} is damaged: the users and tokens cannot be read`,
      `delete it and create a new credential with berth admin token; until then administration is open on this machine`,
    );
  }

  /** `content`: as `encodeAccessList` makes it. */
  prepare(content: Uint8Array): Promise<PreparedFile> {
    return prepareFile(this.#disk, this.#path, content);
  }

  /** The same, at once. */
  replace(content: Uint8Array): Promise<void> {
    return replaceFile(this.#disk, this.#path, content);
  }
}

export const encodeAccessList = (list: AccessList): Uint8Array =>
  Buffer.from(`${JSON.stringify(list, null, 1)}\n`);

/** Null: it is not the content of such a file. */
export function parseAccessList(bytes: Uint8Array): AccessList | null {
  try {
    const list: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return Value.Check(AccessList, list) ? list : null;
  } catch {
    return null;
  }
}
