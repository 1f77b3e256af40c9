import { personOf } from "../../domain/model/slots/person.ts";

/** How names appear in a report: as they are, or replaced. */
export interface Names {
  readonly person: (user: string) => string;
  readonly user: (user: string) => string;
  readonly host: (host: string) => string;
  readonly address: (address: string) => string;
}

const unchanged = (name: string): string => name;

export const REAL_NAMES: Names = {
  person: personOf,
  user: unchanged,
  host: unchanged,
  address: unchanged,
};

/**
 * Replaces names with random keys. A key is not computed from the name, so no reader can find a
 * name by trying; the same name has the same key within one report only.
 */
export function makeAnonymousNames(makeRandomKey: () => string): Names {
  const replaceAs = (kind: string) => {
    const keys = new Map<string, string>();
    return (name: string): string => {
      if (name === "") return "";
      const known = keys.get(name);
      if (known !== undefined) return known;
      const key = `${kind}-${makeRandomKey()}`;
      keys.set(name, key);
      return key;
    };
  };
  const personKey = replaceAs("person");
  const person = (user: string): string => personKey(personOf(user));
  return { person, user: person, host: replaceAs("host"), address: replaceAs("address") };
}
