/** A caller whose claim is explained; empty texts are not known. */
export interface ExplainedCaller {
  readonly user: string;
  readonly host: string;
  readonly from: string;
  readonly login: string;
  readonly product: string;
  readonly feature: string;
}

const NO_CALLER: ExplainedCaller = {
  user: "",
  host: "",
  from: "",
  login: "",
  product: "",
  feature: "",
};

const FIELDS = Object.keys(NO_CALLER) as (keyof ExplainedCaller)[];

/** A caller as parts of an address, so that other views can link to its explanation. */
export const explainParams = (caller: Partial<ExplainedCaller>): readonly string[] =>
  FIELDS.flatMap((field) => {
    const value = caller[field] ?? "";
    return value === "" ? [] : [`${field}=${value}`];
  });

/** The caller in an address; without a user, there is nothing to explain yet. */
export function readCaller(params: readonly string[]): ExplainedCaller {
  const entries = FIELDS.map((field) => {
    const param = params.find((candidate) => candidate.startsWith(`${field}=`));
    return [field, param?.slice(field.length + 1) ?? ""] as const;
  });
  return { ...NO_CALLER, ...Object.fromEntries(entries) };
}
