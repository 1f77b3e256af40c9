/**
 * What a server holds open is not what its name leads to any more: somebody removed or replaced it.
 * Exit code 1.
 */
export class FolderChanged extends Error {
  readonly path: string;
  readonly hint: string;

  constructor(path: string, message: string, hint: string) {
    super(message);
    this.name = "FolderChanged";
    this.path = path;
    this.hint = hint;
  }
}
