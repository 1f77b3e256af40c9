import { err, ok, type Result } from "../../domain/result.ts";
import { flag, text, type InvalidValue } from "../frame/options.ts";

export const textFilter = (name: string, help: string) =>
  text(name, help, {
    parse: (value) =>
      value === "" ? err({ problem: "must not be empty", hint: help }) : ok(value),
  });

function parseApplianceId(text: string): Result<string, InvalidValue> {
  if (/^[0-9A-HJKMNP-TV-Z]{16}$/.test(text)) return ok(text);
  const hint = "16 letters and digits, as shown by berth status";
  return err({ problem: "must be an appliance id", hint });
}

export const applianceFilter = (help: string) =>
  text("--appliance ID", help, { parse: parseApplianceId });

export const csvOption = flag("--csv", "print CSV");
