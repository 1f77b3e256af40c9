import { checkPairLog } from "../../operations/pair/open-log.ts";
import { findFolderError } from "../../operations/folder/folder-error.ts";
import {
  capitalize,
  findingReport,
  passedReport,
  type HealthReport,
} from "../../operations/health/finding.ts";
import { databaseFindings } from "../../operations/health/pair.ts";
import type { Environment } from "../../platform/environment.ts";
import { readPairOptions } from "../serve/pair-options.ts";
import { readPasswordSources } from "../serve/service-credentials.ts";
import type { ServeSettings } from "../serve/settings.ts";

/**
 * Checks the database of a pair as a start does, and changes nothing. A running server reports what
 * it finds itself.
 */
export async function checkPairDatabase(
  settings: ServeSettings,
  appliance: string | null,
  environment: Environment,
): Promise<HealthReport[]> {
  const pair = readPairOptions(settings);
  if (pair === null) return [];
  try {
    const options = { ...pair, ...readPasswordSources(environment) };
    const database = await checkPairLog(options, appliance);
    const findings = databaseFindings({ database });
    if (findings.length > 0) return [{ findings, passed: [] }];
    const { version, server } = database;
    return [passedReport("pair_database", `PostgreSQL ${version} at ${server} can keep the log`)];
  } catch (error) {
    const refusal = findFolderError(error);
    if (refusal === null) throw error;
    return [
      findingReport("pair_database_refused", "error", {
        summary: capitalize(refusal.message),
        remedy: capitalize(refusal.hint),
      }),
    ];
  }
}
