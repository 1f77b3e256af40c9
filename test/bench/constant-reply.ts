// The reply of the baselines: the same headers and the same body as those of Berth.

export interface ConstantReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Argument of a baseline. */
export const encodeReply = (reply: ConstantReply): string => JSON.stringify(reply);

/** Reads the first argument of this process. */
export const readReplyArgument = (): ConstantReply =>
  JSON.parse(process.argv[2] ?? "") as ConstantReply;
