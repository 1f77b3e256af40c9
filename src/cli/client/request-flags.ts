import { limits } from "../../domain/model/limits.ts";
import { err, ok } from "../../domain/result.ts";
import { isDateOnly, parseStartTime } from "../../license/terms/term-times.ts";
import { text } from "../frame/options.ts";
import { parseHostCount } from "../frame/option-parsers.ts";

/** What a license request asks for, and which request is shown again. */
export const requestFlags = {
  slots: text("--slots N", "ask the vendor for this number of slots", {
    parse: (text) =>
      /^[1-9]\d{0,11}$/.test(text)
        ? ok(text)
        : err({ problem: "must be a whole number from 1", hint: "for example --slots 10" }),
  }),
  until: text("--until DAY", "ask the vendor for a license until this day, such as 2027-12-31", {
    parse: (text) =>
      isDateOnly(text) && parseStartTime(text) !== null
        ? ok(text)
        : err({ problem: "must be a day", hint: "for example --until 2027-12-31" }),
  }),
  note: text(
    "--note TEXT",
    `a note for the vendor, at most ${limits.requestNoteLength} characters`,
    {
      parse: (text) =>
        text.length <= limits.requestNoteLength
          ? ok(text)
          : err({
              problem: `may have at most ${limits.requestNoteLength} characters`,
              hint: `it has ${text.length}`,
            }),
    },
  ),
  hosts: text(
    "--hosts N",
    "request a license of both hosts of a pair (2) or of the leading host (1); default: as installed",
    { parse: parseHostCount },
  ),
  show: text("--show ID", "show an open request or activation code again instead of creating one"),
};
