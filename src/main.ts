import { run } from "./cli/frame/cli.ts";

process.exit(await run(process.argv.slice(2), process.env, process.platform));
