import { expect, test } from "bun:test";
import { findFolderError } from "../../../src/operations/folder/folder-error.ts";
import { FolderBusy } from "../../../src/store/folder/lock.ts";
import {
  AuditDamaged,
  AuditExportRefused,
  BackupRefused,
  DiskSpaceMissing,
  FolderRefused,
  FormatRefused,
  MigrationFailed,
  PairRefused,
  RestoreUnfinished,
} from "../../../src/store/folder/refusal.ts";
import { LogUnavailable } from "../../../src/store/log/shared-log.ts";

test.each([
  ["FolderRefused", "folder_refused", true, FolderRefused],
  ["FormatRefused", "folder_refused", true, FormatRefused],
  ["AuditDamaged", "audit_damaged", true, AuditDamaged],
  ["FolderBusy", "folder_in_use", false, FolderBusy],
  ["BackupRefused", "backup_refused", false, BackupRefused],
  ["PairRefused", "pair_refused", false, PairRefused],
  ["MigrationFailed", "migration_failed", false, MigrationFailed],
  ["DiskSpaceMissing", "storage_full", false, DiskSpaceMissing],
  ["AuditExportRefused", "export_refused", false, AuditExportRefused],
  ["RestoreUnfinished", "restore_unfinished", false, RestoreUnfinished],
] as const)(
  "findFolderError describes %s as %s, with message and hint",
  (_name, code, needsOperator, errorClass) => {
    const described = { code, message: "finding", hint: "remedy", needsOperator };
    expect(findFolderError(new errorClass("finding", "remedy"))).toEqual(described);
  },
);

test("findFolderError describes LogUnavailable as log_unavailable, which may pass by itself", () => {
  const error = findFolderError(new LogUnavailable("no answer"));
  expect(error).toMatchObject({ code: "log_unavailable", needsOperator: false });
  expect(error?.hint).toContain("check that the database of the pair runs");
});

test("findFolderError is null for what no operation on a folder throws", () => {
  for (const error of [new Error("ENOSPC"), "a text", null]) {
    expect(findFolderError(error)).toBeNull();
  }
});
