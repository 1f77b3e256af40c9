import type { Command } from "../../frame/command.ts";
import { acceptCommand } from "./accept.ts";
import { keyCommands } from "./key.ts";
import { rootCommands } from "./root.ts";
import { answerCommand } from "./answer.ts";
import { customerCommands } from "./customer.ts";
import { orderCommands } from "./order.ts";
import { restoredCommand } from "./restored.ts";
import { confirmCommand, initCodeCommand, policyCommand } from "./airgap.ts";
import { deskBackupCommands } from "./backup.ts";
import { deskCommands } from "./desk.ts";
import { documentCommands } from "./documents.ts";
import { issueCommand } from "./issue.ts";
import { listCommand } from "./list.ts";
import { receiveCommand } from "./receive.ts";
import { usageCommand } from "./usage.ts";
import { productCommands } from "./product.ts";
import { showCommand } from "./show.ts";
import { termsCommand } from "./terms.ts";

/** All commands of the vendor's desk. */
export const vendorCommands: readonly Command[] = [
  ...deskCommands,
  showCommand,
  ...keyCommands,
  acceptCommand,
  ...rootCommands,
  ...productCommands,
  ...orderCommands,
  ...customerCommands,
  answerCommand,
  restoredCommand,
  issueCommand,
  policyCommand,
  termsCommand,
  initCodeCommand,
  confirmCommand,
  receiveCommand,
  ...documentCommands,
  listCommand,
  usageCommand,
  ...deskBackupCommands,
];
