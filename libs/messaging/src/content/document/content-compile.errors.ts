/** Content that cannot be made into a mail. */
export class ContentCompileError extends Error {
  override readonly name = 'ContentCompileError';
}
