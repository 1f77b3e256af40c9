import { hostname } from "node:os";
import { parseBackupSchedule, type BackupSchedule } from "../../domain/backups/backup-schedule.ts";
import { parseNetwork } from "../../domain/model/rules/network.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { INVISIBLE } from "../../domain/text/invisible-characters.ts";
import type { InvalidValue } from "../frame/options.ts";

export const parseNetworkText = (text: string): Result<string, InvalidValue> =>
  parseNetwork(text) !== null
    ? ok(text)
    : err({
        problem: `must be a list of networks; ${text} is not a network`,
        problemWithoutValue: "must be a list of networks",
        hint: text.includes("%") ? "a network has no zone: fe80::/64" : "for example 10.1.0.0/16",
      });

const MAX_SITE_NAME = 64;

/** No control characters, and nothing that hides or reorders the text beside it. */
const isVisible = (text: string): boolean => text.isWellFormed() && !INVISIBLE.test(text);

export const parseSiteName = (text: string): Result<string, InvalidValue> =>
  text.trim() === text && text !== "" && text.length <= MAX_SITE_NAME && isVisible(text)
    ? ok(text)
    : err({
        problem: `must be 1 to ${MAX_SITE_NAME} visible characters, without spaces at its ends`,
        hint: "for example Plant 4",
      });

/** The machine's name; a name that is not valid as a site name is not used. */
export function defaultSiteName(): string {
  const name = hostname();
  return parseSiteName(name).ok ? name : "berth";
}

/** Null: no limit. */
export const parseSlotLimit = (text: string): Result<number | null, InvalidValue> =>
  /^(?:0|[1-9]\d{0,8})$/.test(text)
    ? ok(Number(text) || null)
    : err({ problem: "must be a number of slots", hint: "for example 2, or 0 for no limit" });

export const parseSchedule = (text: string): Result<BackupSchedule, InvalidValue> => {
  const schedule = parseBackupSchedule(text);
  if (schedule.ok) return schedule;
  return err({
    problem: "must be off, hourly, daily HH:MM or weekly DAY HH:MM",
    hint: 'for example "daily 02:30" or "weekly sun 02:30"',
  });
};

/** An empty path would mean the working folder. */
export const parseBackupDir = (text: string): Result<string, InvalidValue> =>
  text === ""
    ? err({ problem: "requires a folder", hint: "for example /mnt/backups/berth" })
    : ok(text);
