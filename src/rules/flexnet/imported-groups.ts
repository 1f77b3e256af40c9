import { INVISIBLE } from "../../domain/text/invisible-characters.ts";
import { countBytes } from "../../domain/text/text-size.ts";
import { RULES_LIMITS } from "../limits.ts";
import { isAddressLike, toNetwork } from "./address-pattern.ts";
import type { ImportedGroup } from "./imported-rules.ts";

/** A member of a group of an options file, or the name in a line with USER, HOST or INTERNET. */
export type MemberType = "USER" | "HOST" | "INTERNET";

/** The groups of an import: those of the file, and one for each single user, host or network. */
export class ImportedGroups {
  readonly #groups = new Map<string, ImportedGroup>();
  /** By keyword and name in the options file, which has a namespace for each keyword. */
  readonly #defined = new Map<string, ImportedGroup>();
  readonly #single = new Map<string, ImportedGroup>();
  /** By name: the number of the last group whose name is made from it. */
  readonly #lastNumbers = new Map<string, number>();

  list(): readonly ImportedGroup[] {
    return [...this.#groups.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The GROUPs or HOST_GROUPs of the file. */
  listDefined(keyword: "GROUP" | "HOST_GROUP"): readonly ImportedGroup[] {
    const defined = [...this.#defined];
    return defined.filter(([key]) => key.startsWith(`${keyword} `)).map(([, group]) => group);
  }

  find(keyword: "GROUP" | "HOST_GROUP", name: string): ImportedGroup | null {
    return this.#defined.get(`${keyword} ${name}`) ?? null;
  }

  /** Lines with the same name add up. */
  define(keyword: "GROUP" | "HOST_GROUP", name: string): ImportedGroup {
    const existing = this.find(keyword, name);
    if (existing !== null) return existing;
    const base = toGroupName(name);
    const isTaken = this.#groups.has(base);
    const group = this.#create(isTaken && keyword === "HOST_GROUP" ? `${base}-hosts` : base);
    this.#defined.set(`${keyword} ${name}`, group);
    return group;
  }

  /** The group of a single user, host or network; a text: why there is none. */
  single(type: MemberType, name: string): ImportedGroup | string {
    const existing = this.#single.get(`${type} ${name}`);
    if (existing !== undefined) return existing;
    const members = emptyMembers();
    const problem = addMember(members, type, name);
    if (problem !== null) return problem;
    const [network] = members.networks;
    const prefix = network === undefined ? type.toLowerCase() : "net";
    const group = this.#create(toGroupName(`${prefix}-${network ?? name}`));
    addMember(group, type, name);
    this.#single.set(`${type} ${name}`, group);
    return group;
  }

  #create(base: string): ImportedGroup {
    let name = base;
    let count = this.#lastNumbers.get(base) ?? 1;
    while (this.#groups.has(name)) name = `${base}-${(count += 1)}`;
    this.#lastNumbers.set(base, count);
    const group = { name, ...emptyMembers(), ignoreCase: false, lines: new Set<number>() };
    this.#groups.set(name, group);
    return group;
  }
}

type Members = Pick<ImportedGroup, "users" | "hosts" | "networks">;

const emptyMembers = (): Members => ({ users: new Set(), hosts: new Set(), networks: new Set() });

export const isEmptyGroup = ({ users, hosts, networks }: Members): boolean =>
  users.size + hosts.size + networks.size === 0;

/** Adds a member, or says why it has no equivalent. */
export function addMember(members: Members, type: MemberType, name: string): string | null {
  if (INVISIBLE.test(name)) return `${JSON.stringify(name)} has an invisible character`;
  if (name === "" || countBytes(name) > RULES_LIMITS.nameBytes) {
    return name === "" ? "a name is empty" : `${name.slice(0, 20)}… is too long for a name`;
  }
  if (type === "INTERNET" || (type === "HOST" && isAddressLike(name))) {
    const network = toNetwork(name);
    if (network === null) {
      return `${name} is not the address of a host or of one network; in Berth, \`*\` stands for all last parts`;
    }
    members.networks.add(network);
    return null;
  }
  if (name.includes("*")) return `${name} contains \`*\`, which FlexNet knows only in addresses`;
  if (type === "HOST") {
    members.hosts.add(name);
    return null;
  }
  if (name.includes("#")) {
    return `${name} contains \`#\`: in Berth, the name of a person ends before it`;
  }
  members.users.add(name);
  return null;
}

/** Letters, digits, `_` and `-`, so that the name needs no quotes. */
const toGroupName = (name: string): string =>
  name.replaceAll(/\W+/g, "-").replaceAll(/^-|-$/g, "").slice(0, 60) || "group";
