import { expect, test } from "bun:test";
import { applyEdit, readSources } from "../support/source-edits.ts";
import { repositoryRoot } from "../support/sources.ts";
import { BUILDS } from "./builds.ts";

const sources = readSources(repositoryRoot);

// The builds themselves take minutes. This shows at once that their edits still fit the sources.
const edits = new Set(Object.values(BUILDS).flatMap((build) => build.edits ?? []));

test.each([...edits].map((edit) => [edit.in, edit] as const))(
  "a build of a later version can still edit %s",
  (_name, edit) => {
    expect(applyEdit(sources, edit).path).toStartWith("src/");
  },
);
