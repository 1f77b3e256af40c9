// A process of its own that takes one of a data folder's locks and keeps it: a second server
// (`folder`), a command on the folder (`command`) or a checkpoint whose server is gone
// (`checkpoint`).
import { realDisk } from "../../src/platform/disk.ts";
import { lockCheckpoint, lockFolder } from "../../src/store/lock.ts";

const parent = process.ppid;
const [which, folder = ""] = process.argv.slice(2);
const lock =
  which === "checkpoint"
    ? lockCheckpoint(realDisk, folder)
    : await lockFolder(realDisk, folder, which === "command" ? "command" : "server");
console.log(lock === null ? "busy" : "held");
// As long as the test's process is there: one that is interrupted leaves nothing behind.
while (process.ppid === parent) await Bun.sleep(100);
