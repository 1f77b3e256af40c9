// A process of its own that takes one of a data folder's locks and keeps it: a second server
// (`folder`), a command on the folder (`command`) or a checkpoint whose server is gone
// (`checkpoint`).
import { realDisk } from "../../src/platform/disk.ts";
import { lockCheckpoint, lockFolder } from "../../src/store/lock.ts";

const [which, folder = ""] = process.argv.slice(2);
const lock =
  which === "checkpoint"
    ? lockCheckpoint(realDisk, folder)
    : await lockFolder(realDisk, folder, which === "command" ? "command" : "server");
console.log(lock === null ? "busy" : "held");
// Long enough for any test, short enough to leave nothing behind when one is interrupted.
await Bun.sleep(30_000);
