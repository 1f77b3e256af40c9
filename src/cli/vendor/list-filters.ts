import { err, ok, type Result } from "../../domain/result.ts";
import type { InvalidValue } from "../frame/options.ts";

type Parse<T> = (text: string) => Result<T, InvalidValue>;

export const filter = <T>(name: string, placeholder: string, help: string, parse: Parse<T>) =>
  ({ name, type: "string", placeholder, help, parse }) as const;

export const textFilter = (name: string, placeholder: string, help: string) =>
  filter(name, placeholder, help, (text) =>
    text === "" ? err({ problem: "must not be empty", hint: help }) : ok(text),
  );

function parseApplianceId(text: string): Result<string, InvalidValue> {
  if (/^[0-9A-HJKMNP-TV-Z]{16}$/.test(text)) return ok(text);
  const hint = "16 letters and digits, as shown by berth status";
  return err({ problem: "must be an appliance id", hint });
}

export const applianceFilter = (help: string) => filter("appliance", "ID", help, parseApplianceId);

export const csvOption = { name: "csv", type: "boolean", help: "print CSV" } as const;
