import type { Command } from "../command.ts";
import { confirmCommand, initCodeCommand, policyCommand } from "./vendor-airgap.ts";
import { deskBackupCommands } from "./vendor-backup.ts";
import { deskCommands } from "./vendor-desk.ts";
import { documentCommands } from "./vendor-documents.ts";
import { issueCommand } from "./vendor-issue.ts";
import { listCommand } from "./vendor-list.ts";
import { productCommands } from "./vendor-product.ts";
import { showCommand } from "./vendor-show.ts";
import { termsCommand } from "./vendor-terms.ts";

/** All commands of the vendor's desk. */
export const vendorCommands: readonly Command[] = [
  ...deskCommands,
  showCommand,
  ...productCommands,
  issueCommand,
  policyCommand,
  termsCommand,
  initCodeCommand,
  confirmCommand,
  ...documentCommands,
  listCommand,
  ...deskBackupCommands,
];
