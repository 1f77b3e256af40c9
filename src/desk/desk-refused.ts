/** The desk was asked for something it will not or cannot do. */
export class DeskRefused extends Error {
  override readonly name = "DeskRefused";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}
