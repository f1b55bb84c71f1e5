/** The demo cannot begin. Its message tells the user, in plain words, what to do. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}
