import { expect, test } from "bun:test";
import { INJECTED_BUGS as modelBugs } from "../model/injected-bugs.ts";
import { INJECTED_BUGS as sharingBugs } from "../sharing/injected-bugs.ts";
import { applyEdit, readSources } from "./source-edits.ts";
import { repositoryRoot } from "./sources.ts";

const sources = readSources(repositoryRoot);
const bugs = [...modelBugs, ...sharingBugs];

// The search for an injected bug is a slow test. This shows at once that each can still be made.
test.each(bugs.map((bug) => [bug.name, bug] as const))(
  "the source has exactly one location to inject: %s",
  (_name, bug) => {
    expect(applyEdit(sources, bug).path).toStartWith("src/");
  },
);
