import { err, ok, type Result } from "../../domain/result.ts";
import type { InvalidValue } from "./options.ts";
import { parseListenAddress, type ListenAddress } from "../serve/listen-address.ts";

type Parsed<T> = Result<T, InvalidValue>;

/** An empty path would mean the working folder. */
export const folderPath = (text: string): Parsed<string> =>
  text === ""
    ? err({ problem: "requires a folder", hint: "for example --data /srv/berth" })
    : ok(text);

export function listenAddress(text: string): Parsed<ListenAddress> {
  const address = parseListenAddress(text);
  if (address !== null) return ok(address);
  const hint = "for example 0.0.0.0:8080, or [::]:8080";
  return err({ problem: "must be HOST:PORT, with a port up to 65535", hint });
}

/** Checked, but kept as it was written: for a settings file. */
export function listenAddressText(text: string): Parsed<string> {
  const address = listenAddress(text);
  return address.ok ? ok(text) : address;
}

export const oneOf =
  <const T extends readonly string[]>(...allowed: T) =>
  (text: string): Parsed<T[number]> => {
    const value = allowed.find((name) => name === text);
    return value === undefined
      ? err({ problem: `must be one of ${allowed.join(", ")}`, hint: "" })
      : ok(value);
  };

export const matchingNumber =
  (pattern: RegExp, problem: string, hint: string) =>
  (text: string): Parsed<number> =>
    pattern.test(text) ? ok(Number(text)) : err({ problem, hint });

/** `what` as in "a number of days"; leading zeros are refused. */
export const wholeNumber =
  (from: number, to: number, what: string, hint: string) =>
  (text: string): Parsed<number> =>
    /^(?:0|[1-9]\d{0,8})$/.test(text) && Number(text) >= from && Number(text) <= to
      ? ok(Number(text))
      : err({ problem: `must be ${what} from ${from} to ${to}`, hint });

/** The hosts that a license is for: one, or the two of a pair. */
export const parseHostCount = (text: string): Parsed<1 | 2> =>
  text === "1" || text === "2"
    ? ok(text === "1" ? 1 : 2)
    : err({ problem: "must be 1 or 2", hint: "--hosts 2 is for the two hosts of a pair" });
