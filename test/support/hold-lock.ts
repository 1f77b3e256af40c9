// A separate process that acquires and holds one of a data folder's locks: that of a second server
// (`folder`), of a command (`command`) or of a checkpoint whose server is gone (`checkpoint`).
import { realDisk } from "../../src/platform/files/disk.ts";
import { lockCheckpoint, lockFolder } from "../../src/store/folder/lock.ts";

const parent = process.ppid;
const [kind, folder = ""] = process.argv.slice(2);
const lock =
  kind === "checkpoint"
    ? lockCheckpoint(realDisk, folder)
    : await lockFolder(realDisk, folder, kind === "command" ? "command" : "server");
console.log(lock === null ? "busy" : "held");
// Ends with the test's process, so that an interrupted test leaves no process behind.
while (process.ppid === parent) await Bun.sleep(100);
