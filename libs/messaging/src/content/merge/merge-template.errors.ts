/** A merge template that cannot be parsed, or that exceeds its bounds when it is filled in. */
export class MergeTemplateError extends Error {
  override readonly name = 'MergeTemplateError';

  /** @param line 1-based line of the fault in the template's source, when it is known */
  constructor(
    message: string,
    readonly line?: number,
  ) {
    super(message);
  }
}
